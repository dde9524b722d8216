import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F

from .data import N_CHANNELS


def conv_block(cin: int, cout: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class TinyUNet(nn.Module):
    def __init__(self, in_channels: int, width: int):
        super().__init__()
        self.enc1 = conv_block(in_channels, width)
        self.enc2 = conv_block(width, 2 * width)
        self.mid = conv_block(2 * width, 4 * width)
        self.dec2 = conv_block(6 * width, 2 * width)
        self.dec1 = conv_block(3 * width, width)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        c = self.dec2(torch.cat([F.interpolate(c, scale_factor=2), b], dim=1))
        c = self.dec1(torch.cat([F.interpolate(c, scale_factor=2), a], dim=1))
        return self.out(c)


def soft_dice_loss(logits, target, smooth: float = 1.0):
    prob = logits.sigmoid()
    inter = (prob * target).sum(dim=(1, 2, 3))
    total = prob.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
    return (1 - (2 * inter + smooth) / (total + smooth)).mean()


class SegmentationTask(L.LightningModule):
    def __init__(
        self,
        width: int = 8,
        max_lr: float = 3e-3,
        weight_decay: float = 1e-4,
        pos_weight: float = 2.0,
        dice_weight: float = 0.5,
        stride: int = 4,
        threshold: float = 0.5,
    ):
        super().__init__()
        self.save_hyperparameters()
        self.net = TinyUNet(N_CHANNELS, width)
        self.register_buffer("pos_weight", torch.tensor(pos_weight))
        self.register_buffer("counts", torch.zeros(2), persistent=False)

    def forward(self, x):
        return self.net(x)

    def criterion(self, logits, mask):
        bce = F.binary_cross_entropy_with_logits(logits, mask, pos_weight=self.pos_weight)
        dice = soft_dice_loss(logits, mask)
        return bce + self.hparams.dice_weight * dice

    def training_step(self, batch, batch_idx):
        image, mask = batch
        loss = self.criterion(self(image), mask)
        self.log("train/loss", loss, on_step=False, on_epoch=True, prog_bar=True)
        return loss

    def _whole_tile(self, image):
        """Logits of a tile of any size: reflect up to the network's stride and cut back."""
        h, w = image.shape[-2:]
        s = self.hparams.stride
        padded = F.pad(image, (0, -w % s, 0, -h % s), mode="reflect")
        return self(padded)[..., :h, :w]

    def on_validation_epoch_start(self):
        self.counts.zero_()

    def validation_step(self, batch, batch_idx):
        image, mask = batch
        logits = self._whole_tile(image)
        self.log("val/loss", self.criterion(logits, mask), batch_size=len(image), sync_dist=True)
        hit = logits.sigmoid() > self.hparams.threshold
        truth = mask > 0.5
        self.counts[0] += (hit & truth).sum()
        self.counts[1] += hit.sum() + truth.sum()

    def on_validation_epoch_end(self):
        inter, total = self.all_gather(self.counts).reshape(-1, 2).sum(0)
        self.log("val/dice", 2 * inter / total.clamp(min=1), prog_bar=True)

    def configure_optimizers(self):
        hp = self.hparams
        decay = [p for p in self.parameters() if p.ndim > 1]
        plain = [p for p in self.parameters() if p.ndim <= 1]
        opt = torch.optim.AdamW(
            [{"params": decay, "weight_decay": hp.weight_decay}, {"params": plain, "weight_decay": 0.0}],
            lr=hp.max_lr,
        )
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, max_lr=hp.max_lr, total_steps=int(self.trainer.estimated_stepping_batches)
        )
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}
