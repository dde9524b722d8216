import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms as T

tf = T.Compose([T.ToTensor(), T.Normalize([0.5] * 3, [0.5] * 3)]) #@
train_loader = DataLoader(datasets.CIFAR10("data", True, tf, download=True), batch_size=64, shuffle=True)
test_loader = DataLoader(datasets.CIFAR10("data", False, tf), batch_size=100)
net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 3, 3, padding=1), nn.Tanh())
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def psnr(pred, target, max_val=1.0): #@
    mse = F.mse_loss(pred, target)
    return 20 * torch.log10(torch.tensor(max_val)) - 10 * torch.log10(mse) #@


def degrade(x):
    return F.interpolate(F.avg_pool2d(x, 2), scale_factor=2, mode="bilinear", align_corners=False)


for epoch in range(20):
    net.train()
    for x, _ in train_loader:
        opt.zero_grad()
        F.l1_loss(net(degrade(x)), x).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        score = sum(psnr(net(degrade(x)), x) for x, _ in test_loader) / len(test_loader) #@
    print(epoch, score.item())
