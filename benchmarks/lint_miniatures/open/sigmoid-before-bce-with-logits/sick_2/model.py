import torch
import torch.nn as nn


class UNetLite(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.ReLU())
        self.down = nn.Conv2d(ch, ch * 2, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(ch * 2, ch, 2, stride=2)
        self.out = nn.Conv2d(ch * 2, 1, 1)

    def forward(self, x):
        skip = self.enc(x)
        h = self.up(torch.relu(self.down(skip)))
        return torch.sigmoid(self.out(torch.cat([h, skip], dim=1))) #@
