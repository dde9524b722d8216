import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from losses import SpectralLoss


class SRModule(L.LightningModule):
    def __init__(self, lr=2e-4):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 12, 3, padding=1), nn.PixelShuffle(2))
        self.spectral = SpectralLoss() #@

    def training_step(self, batch, batch_idx):
        lr_img, hr_img = batch
        sr = self.net(lr_img)
        loss = F.l1_loss(sr, hr_img) + self.spectral(sr, hr_img) #@
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


hr = torch.rand(300, 3, 192, 192)
loader = DataLoader(TensorDataset(F.avg_pool2d(hr, 2), hr), batch_size=8, shuffle=True)
L.Trainer(max_epochs=50).fit(SRModule(), loader)
