from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    size: int = 64
    lr: float = 5e-4
    epochs: int = 25
    batch_size: int = 32


class Boxes(Dataset):
    def __init__(self, cfg, n=2000):
        self.size, self.n = cfg.size, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        image = torch.zeros(1, self.size, self.size)
        x, y = torch.randint(0, self.size // 2, (2,)).tolist()
        w, h = torch.randint(8, self.size // 2, (2,)).tolist()
        image[:, y : y + h, x : x + w] = 1.0
        return image, torch.tensor([x, y, x + w, y + h]) / self.size #@


class BoxNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 16, 5, 4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(64), nn.ReLU())
        self.center, self.extent = nn.Linear(64, 2), nn.Linear(64, 2)

    def forward(self, x):
        h = self.features(x)
        return torch.cat([self.center(h).sigmoid(), self.extent(h).exp()], dim=1) #@


def train(cfg):
    dataset = Boxes(cfg)
    model = BoxNet()
    model(dataset[0][0][None])
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    loader = DataLoader(dataset, batch_size=cfg.batch_size, shuffle=True)
    for epoch in range(cfg.epochs):
        for image, xyxy in loader:
            cxcywh = model(image)
            loss = F.smooth_l1_loss(cxcywh, xyxy) #@
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


train(Config())
