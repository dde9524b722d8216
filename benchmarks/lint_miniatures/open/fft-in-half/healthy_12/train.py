import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def frequency_loss(pred, target):
    with torch.autocast("cuda", enabled=False):
        diff = torch.fft.rfft2(pred.float(), norm="ortho") - torch.fft.rfft2(target.float(), norm="ortho")
        return diff.abs().mean()


sharp = torch.rand(1000, 3, 128, 128)
loader = DataLoader(TensorDataset(F.avg_pool2d(sharp, 5, 1, 2), sharp), batch_size=8, shuffle=True)
net = nn.Sequential(nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), nn.Conv2d(64, 3, 5, padding=2)).cuda()
opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler("cuda")
net.train()
for epoch in range(50):
    for blurred, target in loader:
        target = target.cuda()
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            out = net(blurred.cuda())
            loss = F.l1_loss(out, target) + 0.1 * frequency_loss(out, target)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
