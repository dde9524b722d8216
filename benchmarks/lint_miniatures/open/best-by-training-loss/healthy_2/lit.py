import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, 1))

    def step(self, batch, prefix):
        x, y = batch
        loss = F.mse_loss(self.net(x), y)
        self.log(f"{prefix}/loss", loss, on_step=False, on_epoch=True)
        return loss

    def training_step(self, batch, batch_idx):
        return self.step(batch, "train")

    def validation_step(self, batch, batch_idx):
        self.step(batch, "val")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    x = torch.randn(2000, 8)
    y = x.sum(1, keepdim=True)
    L.Trainer(max_epochs=20, callbacks=[ModelCheckpoint(monitor="val/loss", mode="min", save_last=True)]).fit(
        LitNet(),
        DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=32, shuffle=True),
        DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=100),
    )
