import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SimpleGate(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        return a * b #@


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.expand = nn.Conv2d(c, 4 * c, 3, padding=1)
        self.gate = SimpleGate() #@
        self.project = nn.Conv2d(2 * c, c, 1)

    def forward(self, x):
        return x + self.project(self.gate(self.expand(x))) #@


net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), *[Block(32) for _ in range(8)], nn.Conv2d(32, 3, 3, padding=1))
net = net.cuda()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda")
loader = DataLoader(TensorDataset(torch.rand(2000, 3, 64, 64)), batch_size=16, shuffle=True)
net.train()
for epoch in range(50):
    for (x,) in loader:
        x = x.cuda()
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16): #@
            loss = nn.functional.l1_loss(net(x + 0.1 * torch.randn_like(x)), x)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
