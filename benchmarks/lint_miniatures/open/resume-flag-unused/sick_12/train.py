from dataclasses import dataclass

import lightning as L
import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    max_epochs: int
    lr: float
    batch_size: int
    resume_from_checkpoint: str | None = None #@


class Model(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.mse_loss(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


if __name__ == "__main__":
    with open("config.yaml") as f:
        cfg = Config(**yaml.safe_load(f))
    data = TensorDataset(torch.randn(4000, 32), torch.randn(4000, 1))
    loader = DataLoader(data, batch_size=cfg.batch_size, shuffle=True)
    trainer = L.Trainer(max_epochs=cfg.max_epochs, default_root_dir="runs")
    trainer.fit(Model(cfg.lr), loader) #@
