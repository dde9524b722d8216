import torch
import torch.nn as nn
import torch.nn.functional as F

block_size, batch_size, eval_interval, eval_iters, max_iters = 32, 16, 200, 20, 2000
data = torch.randint(0, 64, (20000,))
train_data, val_data = data[:18000], data[18000:]


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - block_size - 1, (batch_size,))
    return torch.stack([d[i:i + block_size] for i in ix]), torch.stack([d[i + 1:i + block_size + 1] for i in ix])


class CharModel(nn.Module):
    def __init__(self, vocab=64, dim=96):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, num_layers=2, dropout=0.2, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx):
        out, _ = self.rnn(self.emb(idx))
        return self.head(out)


@torch.no_grad()
def estimate_loss(model):
    out = {}
    model.eval()  #@
    for split in ("train", "val"):
        losses = torch.zeros(eval_iters)
        for k in range(eval_iters):
            x, y = get_batch(split)
            losses[k] = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        out[split] = losses.mean().item()
    return out  #@


model = CharModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for it in range(max_iters):
    if it % eval_interval == 0:
        print(it, estimate_loss(model))  #@
    xb, yb = get_batch("train")
    loss = F.cross_entropy(model(xb).flatten(0, 1), yb.flatten())  #@
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
