import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Masked(L.LightningModule):
    def __init__(self, ramp_epochs=20, max_ratio=0.6):
        super().__init__()
        self.ramp_epochs, self.max_ratio = ramp_epochs, max_ratio
        self.net = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 40))

    def masked_loss(self, x, ratio):
        drop = torch.rand_like(x) < ratio
        recon = self.net(x.masked_fill(drop, 0.0))
        return F.mse_loss(recon, x)

    def training_step(self, batch, batch_idx):
        ratio = self.max_ratio * min(1.0, (self.current_epoch + 1) / self.ramp_epochs)
        self.log("mask_ratio", ratio)
        return self.masked_loss(batch[0], ratio)

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.masked_loss(batch[0], self.max_ratio))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    x = torch.randn(2400, 40)
    L.Trainer(max_epochs=30).fit(
        Masked(),
        DataLoader(TensorDataset(x[:2000]), batch_size=64, shuffle=True),
        DataLoader(TensorDataset(x[2000:]), batch_size=200),
    )
