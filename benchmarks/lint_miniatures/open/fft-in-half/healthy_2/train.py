import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset


class FrequencyLoss(nn.Module):
    @torch.autocast("cuda", enabled=False)
    def forward(self, pred, target):
        pred, target = pred.float(), target.float()
        diff = torch.fft.rfft2(pred, norm="ortho") - torch.fft.rfft2(target, norm="ortho")
        return diff.abs().mean()


class Deblur(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 48, 5, padding=2), nn.GELU(), nn.Conv2d(48, 3, 5, padding=2))
        self.freq = FrequencyLoss()

    def training_step(self, batch, batch_idx):
        blur, sharp = batch
        pred = self.net(blur)
        loss = F.l1_loss(pred, sharp) + 0.1 * self.freq(pred, sharp)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-4)


if __name__ == "__main__":
    sharp = torch.rand(200, 3, 120, 120)
    blur = F.avg_pool2d(sharp, 3, stride=1, padding=1)
    loader = DataLoader(TensorDataset(blur, sharp), batch_size=4, shuffle=True)
    L.Trainer(max_epochs=100, accelerator="gpu", devices=1, precision="16-mixed").fit(Deblur(), loader)
