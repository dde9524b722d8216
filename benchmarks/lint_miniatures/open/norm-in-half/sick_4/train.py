from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainConfig:
    channels: int = 64
    lr: float = 1e-4
    epochs: int = 30
    batch_size: int = 8
    amp_dtype: str = "float16" #@


class InstanceStats(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1, channels, 1, 1))
        self.shift = nn.Parameter(torch.zeros(1, channels, 1, 1))
        self.eps = eps

    def forward(self, x):
        mu = x.mean(dim=(2, 3), keepdim=True) #@
        centered = x - mu
        var = (centered * centered).mean(dim=(2, 3), keepdim=True) #@
        return centered * (var + self.eps).sqrt().reciprocal() * self.scale + self.shift #@


class Trainer:
    def __init__(self, cfg, dataset):
        c = cfg.channels
        self.cfg = cfg
        self.net = nn.Sequential(
            nn.Conv2d(1, c, 3, padding=1), InstanceStats(c), nn.ReLU(), nn.Conv2d(c, 1, 3, padding=1) #@
        ).cuda()
        self.loader = DataLoader(dataset, batch_size=cfg.batch_size, shuffle=True)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=cfg.lr)
        self.scaler = torch.amp.GradScaler("cuda")
        self.amp_dtype = getattr(torch, cfg.amp_dtype)

    def fit(self):
        self.net.train()
        for _ in range(self.cfg.epochs):
            for lr_img, hr_img in self.loader:
                self.opt.zero_grad(set_to_none=True)
                with torch.autocast(device_type="cuda", dtype=self.amp_dtype): #@
                    loss = nn.functional.mse_loss(self.net(lr_img.cuda()), hr_img.cuda())
                self.scaler.scale(loss).backward()
                self.scaler.step(self.opt)
                self.scaler.update()


if __name__ == "__main__":
    images = torch.rand(128, 1, 96, 96)
    Trainer(TrainConfig(), TensorDataset(images, images.clone())).fit()
