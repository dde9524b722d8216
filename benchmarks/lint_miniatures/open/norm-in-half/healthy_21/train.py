from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    width: int = 256
    depth: int = 6
    lr: float = 3e-4
    epochs: int = 10
    batch_size: int = 64
    clip: float = 1.0


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt((h * h).mean(-1, keepdim=True) + self.eps)
        return h.to(x.dtype) * self.weight


class GRUStack(nn.Module):
    def __init__(self, s, vocab=512):
        super().__init__()
        self.embed = nn.Embedding(vocab, s.width)
        self.norms = nn.ModuleList(RMSNorm(s.width) for _ in range(s.depth))
        self.cells = nn.ModuleList(nn.GRU(s.width, s.width, batch_first=True) for _ in range(s.depth))
        self.head = nn.Linear(s.width, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        for norm, cell in zip(self.norms, self.cells):
            x = x + cell(norm(x))[0]
        return self.head(x)


def nll(model, ids):
    with torch.autocast("cuda", dtype=torch.float16):
        logits = model(ids[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten())


def main(s):
    torch.manual_seed(0)
    model = GRUStack(s).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=s.lr)
    scaler = torch.amp.GradScaler("cuda")
    train = DataLoader(TensorDataset(torch.load("midi_train.pt")), s.batch_size, shuffle=True)
    valid = DataLoader(TensorDataset(torch.load("midi_valid.pt")), s.batch_size)
    for epoch in range(s.epochs):
        model.train()
        for (ids,) in train:
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(nll(model, ids.cuda())).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), s.clip)
            scaler.step(optimizer)
            scaler.update()
        model.eval()
        with torch.no_grad():
            losses = torch.stack([nll(model, ids.cuda()) for (ids,) in valid])
        print(epoch, losses.mean().item())


if __name__ == "__main__":
    main(Settings())
