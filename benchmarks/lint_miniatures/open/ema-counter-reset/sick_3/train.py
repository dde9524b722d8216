from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ema import ModelEMA


class Trainer:
    def __init__(self, weights_dir="weights"):
        self.last = Path(weights_dir) / "last.pt"
        self.last.parent.mkdir(exist_ok=True)
        self.model = nn.Sequential(nn.Conv2d(3, 16, 3, 2), nn.BatchNorm2d(16), nn.SiLU(), nn.Flatten(), nn.LazyLinear(4))
        self.model(torch.zeros(2, 3, 32, 32))
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.937, nesterov=True)
        self.ema = ModelEMA(self.model)
        self.start_epoch = self.resume() if self.last.exists() else 0

    def resume(self):
        ckpt = torch.load(self.last, map_location="cpu")
        self.model.load_state_dict(ckpt["model"])
        self.opt.load_state_dict(ckpt["optimizer"])
        self.ema.ema.load_state_dict(ckpt["ema"])  #@
        return ckpt["epoch"] + 1  #@

    def train(self, loader, epochs=300):
        for epoch in range(self.start_epoch, epochs):
            self.model.train()
            for x, y in loader:
                self.opt.zero_grad()
                nn.functional.cross_entropy(self.model(x), y).backward()
                self.opt.step()
                self.ema.update(self.model)
            torch.save({"epoch": epoch, "model": self.model.state_dict(), "ema": self.ema.ema.state_dict(),
                        "updates": self.ema.updates, "optimizer": self.opt.state_dict()}, self.last)


if __name__ == "__main__":
    ds = TensorDataset(torch.rand(640, 3, 32, 32), torch.randint(0, 4, (640,)))
    Trainer().train(DataLoader(ds, batch_size=32, shuffle=True))
