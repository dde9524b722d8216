import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class NoisyPairs(Dataset):
    def __init__(self, clean, sigma=0.1):
        self.clean, self.sigma = clean, sigma

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        x = self.clean[i]
        a = x + self.sigma * torch.randn_like(x)
        b = x + self.sigma * torch.randn_like(x)
        return a, b


clean = torch.rand(700, 1, 32, 32)
val_noisy = clean[600:] + 0.1 * torch.randn(100, 1, 32, 32, generator=torch.Generator().manual_seed(0))
train_dl = DataLoader(NoisyPairs(clean[:600]), batch_size=20, shuffle=True)
net = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(25):
    net.train()
    for a, b in train_dl:
        opt.zero_grad()
        F.mse_loss(net(a), b).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, F.mse_loss(net(val_noisy), clean[600:]).item())
