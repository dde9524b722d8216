import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class LayerNorm2d(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels, 1, 1))
        self.bias = nn.Parameter(torch.zeros(channels, 1, 1))
        self.eps = eps

    def forward(self, x):
        mu = x.mean(1, keepdim=True)
        var = (x - mu).pow(2).mean(1, keepdim=True)
        return self.weight * (x - mu) / torch.sqrt(var + self.eps) + self.bias


model = nn.Sequential(
    nn.Conv2d(3, 64, 3, padding=1), LayerNorm2d(64), nn.GELU(), nn.Conv2d(64, 3, 3, padding=1)
).cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
loader = DataLoader(TensorDataset(torch.rand(2000, 3, 64, 64)), batch_size=16, shuffle=True)
model.train()
for epoch in range(20):
    for (x,) in loader:
        x = x.cuda()
        loss = nn.functional.l1_loss(model(x + 0.1 * torch.randn_like(x)), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
