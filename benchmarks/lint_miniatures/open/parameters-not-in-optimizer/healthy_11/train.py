import itertools

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MultiBranch(nn.Module):
    def __init__(self, n_branches=4):
        super().__init__()
        self.stem = nn.Linear(32, 64)
        branches = [nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(n_branches)]
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        h = torch.relu(self.stem(x))
        return sum(branch(h) for branch in self.branches)


body, head = MultiBranch(), nn.Linear(64, 6)
optimizer = torch.optim.Adam(itertools.chain(body.parameters(), head.parameters()), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(4000, 32), torch.randint(0, 6, (4000,))), 40, shuffle=True)
body.train()
head.train()
for epoch in range(25):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(head(body(x)), y).backward()
        optimizer.step()
torch.save({"body": body.state_dict(), "head": head.state_dict()}, "model.pt")
