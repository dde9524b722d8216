import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def two_views(x, sigma=0.1):
    views = x.repeat(2, 1)
    return (views + sigma * torch.randn_like(views)).chunk(2)


def nt_xent(a, b, tau=0.2):
    a, b = nn.functional.normalize(a, dim=1), nn.functional.normalize(b, dim=1)
    logits = a @ b.T / tau
    target = torch.arange(len(a), device=a.device)
    return 0.5 * (nn.functional.cross_entropy(logits, target) + nn.functional.cross_entropy(logits.T, target))


encoder = nn.Sequential(nn.Linear(100, 256), nn.ReLU(), nn.Linear(256, 64))
loader = DataLoader(TensorDataset(torch.randn(10000, 100)), batch_size=256, shuffle=True, drop_last=True)
opt = torch.optim.Adam(encoder.parameters(), lr=3e-4)
encoder.train()
for epoch in range(20):
    for (x,) in loader:
        left, right = two_views(x)
        loss = nt_xent(encoder(left), encoder(right))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
