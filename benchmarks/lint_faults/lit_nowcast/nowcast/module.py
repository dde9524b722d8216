import lightning as L
import torch
import torch.nn.functional as F
from torch import nn

from .data import decode


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.SiLU(),
        nn.Conv2d(cout, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.SiLU(),
    )


class SmallUNet(nn.Module):
    def __init__(self, frames_in, width):
        super().__init__()
        self.enc1, self.enc2 = double_conv(frames_in, width), double_conv(width, 2 * width)
        self.mid = double_conv(2 * width, 2 * width)
        self.dec1 = double_conv(3 * width, width)
        self.drop = nn.Dropout2d(0.05)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.drop(self.mid(self.enc2(F.avg_pool2d(a, 2))))
        up = F.interpolate(b, scale_factor=2, mode="nearest")
        return x[:, -1:] + self.out(self.dec1(torch.cat([up, a], 1)))


def spectral_l1(pred, target):
    """Mean distance of the Fourier coefficients, at the scale of the pixels."""
    with torch.autocast(pred.device.type, enabled=False):
        fp = torch.fft.rfft2(pred.float(), norm="ortho")
        ft = torch.fft.rfft2(target.float(), norm="ortho")
        return (fp - ft).abs().mean()


class Nowcaster(L.LightningModule):
    def __init__(self, frames_in, width, lr, weight_decay, spectral_weight):
        super().__init__()
        self.save_hyperparameters()
        self.net = SmallUNet(frames_in, width)
        self.epoch_losses = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        pred = self(x)
        pixel = F.l1_loss(pred, y)
        loss = pixel + self.hparams.spectral_weight * spectral_l1(pred, y)
        self.epoch_losses.append(loss.detach())
        self.log_dict({"train/loss": loss.detach(), "train/pixel": pixel.detach()})
        return loss

    def on_train_epoch_end(self):
        spread = torch.stack(self.epoch_losses).std()
        self.log("train/loss_spread", spread)
        self.epoch_losses.clear()

    def validation_step(self, batch, batch_idx):
        x, y = batch
        pred = self(x)
        rain, truth = decode(pred.float()), decode(y.float())
        wet = truth > 1.0
        hits = ((rain > 1.0) & wet).sum()
        csi = hits / ((rain > 1.0) | wet).sum().clamp(min=1)
        self.log("val/mae", (rain - truth).abs().mean(), batch_size=len(x), sync_dist=True, prog_bar=True)
        self.log("val/csi", csi.float(), batch_size=len(x), sync_dist=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=self.hparams.weight_decay)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=int(self.trainer.estimated_stepping_batches))
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}
