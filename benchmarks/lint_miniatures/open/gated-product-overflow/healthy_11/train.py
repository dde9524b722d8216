import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class GatedBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm = nn.GroupNorm(1, c)
        self.value = nn.Conv2d(c, c, 3, padding=1)
        self.gate = nn.Conv2d(c, c, 1)

    def forward(self, x):
        h = self.norm(x)
        return x + torch.tanh(self.value(h)) * torch.sigmoid(self.gate(h))


net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), *[GatedBlock(32) for _ in range(4)], nn.Conv2d(32, 3, 1)).cuda()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda")
loader = DataLoader(TensorDataset(torch.rand(2000, 3, 64, 64)), batch_size=16, shuffle=True)
net.train()
for epoch in range(50):
    for (x,) in loader:
        x = x.cuda()
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.l1_loss(net(x + 0.1 * torch.randn_like(x)), x)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
