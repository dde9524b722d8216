import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure


class SRModule(L.LightningModule):
    def __init__(self, scale=2):
        super().__init__()
        self.scale = scale
        self.net = nn.Sequential(nn.Conv2d(3, 3 * scale**2, 3, padding=1), nn.PixelShuffle(scale))
        self.psnr = PeakSignalNoiseRatio(data_range=255.0) #@
        self.ssim = StructuralSimilarityIndexMeasure(data_range=255.0) #@

    def training_step(self, batch, batch_idx):
        (hr,) = batch
        return F.l1_loss(self.net(F.avg_pool2d(hr, self.scale)), hr)

    def validation_step(self, batch, batch_idx):
        (hr,) = batch
        sr = self.net(F.avg_pool2d(hr, self.scale)).clamp(0, 1) #@
        self.psnr(sr, hr) #@
        self.ssim(sr, hr) #@
        self.log("val_psnr", self.psnr, on_epoch=True)
        self.log("val_ssim", self.ssim, on_epoch=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-4)


hr = torch.load("patches_uint8.pt").float() / 255.0 #@
train = DataLoader(TensorDataset(hr[:-200]), batch_size=16, shuffle=True)
val = DataLoader(TensorDataset(hr[-200:]), batch_size=20)
L.Trainer(max_epochs=50).fit(SRModule(), train, val)
