from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainConfig:
    lr: float = 3e-4
    grad_clip: float = 1.0
    epochs: int = 5
    batch_size: int = 64


class Trainer:
    def __init__(self, model, cfg):
        self.cfg = cfg
        self.model = model.cuda()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr)
        self.scaler = torch.amp.GradScaler("cuda")

    def compute_loss(self, x, y):
        with torch.autocast("cuda", dtype=torch.float16):
            return nn.functional.cross_entropy(self.model(x), y)

    def optimizer_step(self):
        if self.cfg.grad_clip > 0:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.grad_clip) #@
        self.scaler.unscale_(self.opt) #@
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad(set_to_none=True)

    def fit(self, dataset):
        loader = DataLoader(dataset, batch_size=self.cfg.batch_size, shuffle=True)
        for epoch in range(self.cfg.epochs):
            self.model.train()
            for x, y in loader:
                loss = self.compute_loss(x.cuda(), y.cuda())
                self.scaler.scale(loss).backward()
                self.optimizer_step()
            print(epoch, loss.item())


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(3000, 40), torch.randint(0, 7, (3000,)))
    Trainer(nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Linear(80, 7)), TrainConfig()).fit(ds)
