from dataclasses import dataclass

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainConfig:
    lr: float = 3e-4
    warmup_steps: int = 1000 #@
    label_smoothing: float = 0.1 #@
    batch_size: int = 64
    max_epochs: int = 20


class Classifier(L.LightningModule):
    def __init__(self, cfg: TrainConfig):
        super().__init__()
        self.cfg = cfg
        self.net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
        self.criterion = nn.CrossEntropyLoss() #@

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.criterion(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.cfg.lr)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=self.cfg.max_epochs) #@
        return {"optimizer": opt, "lr_scheduler": sched}


if __name__ == "__main__":
    cfg = TrainConfig()
    data = TensorDataset(torch.randn(8000, 64), torch.randint(0, 10, (8000,)))
    loader = DataLoader(data, batch_size=cfg.batch_size, shuffle=True)
    L.Trainer(max_epochs=cfg.max_epochs).fit(Classifier(cfg), loader)
