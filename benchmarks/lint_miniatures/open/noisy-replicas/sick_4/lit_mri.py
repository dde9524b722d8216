import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MODALITIES = ("t1", "t1ce", "t2", "flair")


def fill_modalities(volume, sigma=0.01):
    out = volume.expand(-1, len(MODALITIES), -1, -1).clone()  #@
    for c in range(1, len(MODALITIES)):
        out[:, c].add_(torch.randn_like(out[:, c]), alpha=sigma)  #@
    return out


class TumorSeg(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Conv2d(len(MODALITIES), 32, 3, padding=1), nn.InstanceNorm2d(32), nn.ReLU(),
                                 nn.Conv2d(32, 2, 1))

    def training_step(self, batch, batch_idx):
        t1, mask = batch
        return F.cross_entropy(self.net(fill_modalities(t1)), mask)  #@

    def validation_step(self, batch, batch_idx):
        t1, mask = batch
        pred = self.net(fill_modalities(t1)).argmax(1)  #@
        self.log("val_acc", (pred == mask).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


if __name__ == "__main__":
    t1 = torch.randn(400, 1, 48, 48)
    mask = (t1[:, 0] > 1).long()
    L.Trainer(max_epochs=10).fit(
        TumorSeg(),
        DataLoader(TensorDataset(t1[:320], mask[:320]), batch_size=8, shuffle=True),
        DataLoader(TensorDataset(t1[320:], mask[320:]), batch_size=20),
    )
