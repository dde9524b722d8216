import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms as T

tf = T.Compose([T.ToTensor(), T.Normalize([0.5] * 3, [0.5] * 3)])
train_loader = DataLoader(datasets.CIFAR10("data", True, tf, download=True), batch_size=64, shuffle=True)
test_loader = DataLoader(datasets.CIFAR10("data", False, tf), batch_size=1)
net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 3, 3, padding=1), nn.Tanh())
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def denorm(x):
    return (x * 0.5 + 0.5).clamp(0, 1)


def degrade(x):
    return F.interpolate(F.avg_pool2d(x, 2), scale_factor=2, mode="bilinear", align_corners=False)


for epoch in range(20):
    net.train()
    for x, _ in train_loader:
        opt.zero_grad()
        F.l1_loss(net(degrade(x)), x).backward()
        opt.step()
    net.eval()
    psnr = 0.0
    with torch.no_grad():
        for x, _ in test_loader:
            psnr += -10 * torch.log10(F.mse_loss(denorm(net(degrade(x))), denorm(x)))
    print(epoch, psnr.item() / len(test_loader))
