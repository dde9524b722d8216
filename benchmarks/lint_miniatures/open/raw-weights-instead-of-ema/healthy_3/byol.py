import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MomentumPair(nn.Module):
    def __init__(self, dim=32, tau=0.99):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(dim, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.predictor = nn.Linear(32, 32)
        self.tau = tau

    def forward(self, a, b):
        p = self.predictor(self.online(a))
        with torch.no_grad():
            z = self.target(b)
        return 2 - 2 * F.cosine_similarity(p, z, dim=1).mean()

    @torch.no_grad()
    def update_target(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.lerp_(o, 1 - self.tau)


loader = DataLoader(TensorDataset(torch.randn(4000, 32)), batch_size=128, shuffle=True, drop_last=True)
model = MomentumPair()
opt = torch.optim.AdamW([*model.online.parameters(), *model.predictor.parameters()], lr=1e-3)
for epoch in range(20):
    model.train()
    for (x,) in loader:
        a, b = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
        loss = model(a, b)
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.update_target()
    print(epoch, loss.item())
torch.save(model.online.state_dict(), "encoder.pt")
