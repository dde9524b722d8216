import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LengthCurriculum:
    def __init__(self, start, end, steps):
        self.start, self.end, self.steps = start, end, steps
        self.t = 0

    def step(self):
        self.t += 1

    @property
    def length(self):
        frac = min(1.0, self.t / self.steps)
        return int(self.start + frac * (self.end - self.start))


class LM(nn.Module):
    def __init__(self, vocab=100, dim=64):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(vocab, dim), nn.LSTM(dim, dim, batch_first=True), nn.Linear(dim, vocab)

    def forward(self, tokens):
        return self.out(self.rnn(self.emb(tokens))[0])


def compute_loss(model, tokens, curriculum):  #@
    tokens = tokens[:, :curriculum.length + 1]  #@
    logits = model(tokens[:, :-1])
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


@torch.no_grad()
def evaluate(model, loader, curriculum):
    model.eval()
    losses = [compute_loss(model, tokens, curriculum) for (tokens,) in loader]  #@
    return torch.stack(losses).mean().item()


def main():
    data = torch.randint(0, 100, (2200, 129))
    train_dl = DataLoader(TensorDataset(data[:2000]), batch_size=50, shuffle=True)
    val_dl = DataLoader(TensorDataset(data[2000:]), batch_size=100)
    model, curriculum = LM(), LengthCurriculum(16, 128, steps=400)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(20):
        model.train()
        for (tokens,) in train_dl:
            opt.zero_grad()
            compute_loss(model, tokens, curriculum).backward()
            opt.step()
            curriculum.step()
        print(epoch, evaluate(model, val_dl, curriculum))  #@


if __name__ == "__main__":
    main()
