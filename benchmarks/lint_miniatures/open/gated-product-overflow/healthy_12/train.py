import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SimpleGate(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        return a * b


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = nn.Sequential(nn.GroupNorm(1, c), nn.Conv2d(c, 4 * c, 3, padding=1), SimpleGate(), nn.Conv2d(2 * c, c, 1))

    def forward(self, x):
        return x + self.body(x)


net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), Block(32), Block(32), nn.Conv2d(32, 3, 3, padding=1)).cuda()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.rand(2000, 3, 64, 64)), batch_size=16, shuffle=True)
net.train()
for epoch in range(50):
    for (x,) in loader:
        x = x.cuda()
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = nn.functional.l1_loss(net(x + 0.1 * torch.randn_like(x)), x)
        loss.backward()
        opt.step()
