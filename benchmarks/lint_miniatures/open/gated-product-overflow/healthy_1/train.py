import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SimpleGate(nn.Module):
    def forward(self, x):
        x1, x2 = x.chunk(2, dim=1)
        return x1 * x2


class NAFBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm = nn.GroupNorm(1, c)
        self.expand = nn.Conv2d(c, 2 * c, 1)
        self.gate = SimpleGate()
        self.project = nn.Conv2d(c, c, 1)

    def forward(self, x):
        return x + self.project(self.gate(self.expand(self.norm(x))))


model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), *[NAFBlock(32) for _ in range(12)], nn.Conv2d(32, 3, 3, padding=1)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.9))
sharp = torch.rand(400, 3, 64, 64)
blurry = nn.functional.avg_pool2d(sharp, 5, stride=1, padding=2)
loader = DataLoader(TensorDataset(blurry, sharp), batch_size=16, shuffle=True)
for epoch in range(100):
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = nn.functional.l1_loss(x + model(x), y)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
