import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def two_views(x, sigma=0.1):
    views = x.repeat(2, 1, 1, 1)
    return views + sigma * torch.randn_like(views)


def nt_xent(z, temperature=0.2):
    z = F.normalize(z, dim=1)
    n = len(z) // 2
    sim = z @ z.t() / temperature
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool, device=z.device), float("-inf"))
    target = torch.arange(2 * n, device=z.device).roll(n)
    return F.cross_entropy(sim, target)


loader = DataLoader(TensorDataset(torch.rand(2000, 3, 32, 32)), batch_size=100, shuffle=True, drop_last=True)
encoder = nn.Sequential(nn.Conv2d(3, 32, 3, 2), nn.ReLU(), nn.Conv2d(32, 64, 3, 2), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 32))
opt = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
encoder.train()
for epoch in range(20):
    total = torch.zeros(())
    for (x,) in loader:
        loss = nt_xent(encoder(two_views(x)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.detach()
    print(epoch, total.item() / len(loader))
torch.save(encoder.state_dict(), "encoder.pt")
