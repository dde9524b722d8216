import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def charbonnier(pred, target, eps=1e-9):
    diff = pred.float() - target.float()
    return torch.sqrt(diff * diff + eps).mean()


net = nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 3, 3, padding=1)).cuda()
opt = torch.optim.Adam(net.parameters(), lr=2e-4, eps=1e-8)
scaler = torch.amp.GradScaler("cuda")
loader = DataLoader(TensorDataset(torch.rand(3000, 3, 64, 64)), batch_size=16, shuffle=True)
net.train()
for epoch in range(30):
    for (clean,) in loader:
        clean = clean.cuda()
        noisy = clean + 0.05 * torch.randn_like(clean)
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            pred = net(noisy)
        loss = charbonnier(pred, clean)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
