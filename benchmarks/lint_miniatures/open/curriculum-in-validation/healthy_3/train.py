import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LengthCurriculum:
    def __init__(self, start, end, steps):
        self.start, self.end, self.steps, self.t = start, end, steps, 0

    def step(self):
        self.t += 1

    def crop(self, tokens):
        n = int(self.start + min(1.0, self.t / self.steps) * (self.end - self.start))
        return tokens[:, :n + 1]


class LM(nn.Module):
    def __init__(self, vocab=100, dim=64):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(vocab, dim), nn.GRU(dim, dim, batch_first=True), nn.Linear(dim, vocab)

    def forward(self, tokens):
        return self.out(self.rnn(self.emb(tokens))[0])


def next_token_loss(model, tokens):
    return nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


data = torch.randint(0, 100, (2200, 129))
train_dl = DataLoader(TensorDataset(data[:2000]), batch_size=50, shuffle=True)
val_dl = DataLoader(TensorDataset(data[2000:]), batch_size=100)
model, curriculum = LM(), LengthCurriculum(16, 128, steps=400)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(20):
    model.train()
    for (tokens,) in train_dl:
        opt.zero_grad()
        next_token_loss(model, curriculum.crop(tokens)).backward()
        opt.step()
        curriculum.step()
    model.eval()
    with torch.no_grad():
        print(epoch, torch.stack([next_token_loss(model, t) for (t,) in val_dl]).mean().item())
