import glob

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision.io import read_image
from torchvision.transforms.functional import gaussian_blur


class BlurPairs(Dataset):
    def __init__(self, pattern, patch=None):
        self.files, self.patch = sorted(glob.glob(pattern)), patch

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        sharp = read_image(self.files[i]).float() / 255
        if self.patch:
            top = torch.randint(0, sharp.shape[1] - self.patch + 1, ()).item()
            left = torch.randint(0, sharp.shape[2] - self.patch + 1, ()).item()
            sharp = sharp[:, top:top + self.patch, left:left + self.patch]
        return gaussian_blur(sharp, 9), sharp


train_loader = DataLoader(BlurPairs("data/train/*.png", patch=128), batch_size=8, shuffle=True)
val_loader = DataLoader(BlurPairs("data/val/*.png"), batch_size=1)
net = nn.Sequential(nn.Conv2d(3, 32, 5, padding=2), nn.ReLU(), nn.Conv2d(32, 3, 5, padding=2))
opt = torch.optim.Adam(net.parameters(), lr=2e-4)

for epoch in range(50):
    net.train()
    for blur, sharp in train_loader:
        opt.zero_grad()
        F.l1_loss(net(blur), sharp).backward()
        opt.step()
    net.eval()
    psnr = []
    with torch.no_grad():
        for blur, sharp in val_loader:
            blur = F.interpolate(blur, size=(256, 256), mode="bilinear")  #@
            sharp = F.interpolate(sharp, size=(256, 256), mode="bilinear")  #@
            psnr.append(-10 * torch.log10(F.mse_loss(net(blur).clamp(0, 1), sharp)))  #@
    print(epoch, torch.stack(psnr).mean().item())
