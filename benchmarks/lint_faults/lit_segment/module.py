import lightning as L
import torch
import torch.nn.functional as F
from torch import nn


class UNetLite(nn.Module):
    def __init__(self, base: int = 8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, base, 3, padding=1), nn.BatchNorm2d(base), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv2d(base, 2 * base, 3, stride=2, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * base, base, 2, stride=2)
        self.out = nn.Conv2d(2 * base, 1, 1)

    def forward(self, x):
        skip = self.down(x)
        return self.out(torch.cat([skip, self.up(self.mid(skip))], dim=1))


def dice_score(logits, mask, eps: float = 1.0):
    prob = logits.sigmoid()
    overlap = (prob * mask).sum(dim=(1, 2, 3))
    size = prob.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3))
    return ((2 * overlap + eps) / (size + eps)).mean()


class SegmentationModule(L.LightningModule):
    def __init__(self, lr: float = 1e-3, dice_weight: float = 0.5, max_epochs: int = 2):
        super().__init__()
        self.save_hyperparameters()
        self.net = UNetLite()

    def forward(self, x):
        return self.net(x)

    def _loss(self, logits, mask):
        bce = F.binary_cross_entropy_with_logits(logits, mask)
        dice = 1 - dice_score(logits, mask)
        return bce + self.hparams.dice_weight * dice

    def training_step(self, batch, batch_idx):
        image, mask = batch
        logits = self(image)
        loss = self._loss(logits, mask)
        self.log("train/loss", loss, on_step=True, on_epoch=True, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        image, mask = batch
        logits = self(image)
        self.log("val/loss", self._loss(logits, mask), prog_bar=True)
        self.log("val/dice", dice_score(logits, mask))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=self.hparams.max_epochs)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "epoch"}}
