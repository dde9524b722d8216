import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def fft_loss(out, gt):
    return (torch.fft.fft2(out, norm="ortho") - torch.fft.fft2(gt, norm="ortho")).abs().mean()


net = nn.Sequential(
    nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(),
    nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 3, 3, padding=1),
)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-4)
sharp = torch.rand(1000, 3, 256, 256)
loader = DataLoader(TensorDataset(F.avg_pool2d(sharp, 7, 1, 3), sharp), batch_size=4, shuffle=True)
net.train()
for epoch in range(100):
    for blur, gt in loader:
        out = blur + net(blur)
        loss = F.l1_loss(out, gt) + 0.5 * fft_loss(out, gt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.save(net.state_dict(), "deblur.pt")
