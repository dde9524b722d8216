import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TwoViews(Dataset):
    def __init__(self, n=4000):
        self.x = torch.randn(n, 128)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] + 0.1 * torch.randn(128), self.x[i] + 0.1 * torch.randn(128)


def D(p, z):
    p = F.normalize(p, dim=1)
    z = F.normalize(z.detach(), dim=1)
    return (p * z).sum(dim=1).mean() #@


class SimSiam(nn.Module):
    def __init__(self, dim=256):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(128, dim), nn.BatchNorm1d(dim), nn.ReLU(), nn.Linear(dim, dim))
        self.predictor = nn.Sequential(nn.Linear(dim, dim // 4), nn.ReLU(), nn.Linear(dim // 4, dim))

    def forward(self, x1, x2):
        z1, z2 = self.encoder(x1), self.encoder(x2)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return D(p1, z2) / 2 + D(p2, z1) / 2 #@


model = SimSiam()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
loader = DataLoader(TwoViews(), batch_size=256, shuffle=True, drop_last=True)
for epoch in range(100):
    model.train()
    for x1, x2 in loader:
        loss = model(x1, x2) #@
        optimizer.zero_grad()
        loss.backward() #@
        optimizer.step()
    print(epoch, loss.item())
