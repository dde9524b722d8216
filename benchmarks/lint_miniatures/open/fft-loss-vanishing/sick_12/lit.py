import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class FreqLoss(nn.Module):
    def forward(self, pred, target):
        h, w = pred.shape[-2:]
        diff = torch.fft.rfft2(pred, norm="ortho") - torch.fft.rfft2(target, norm="ortho") #@
        return diff.abs().mean() / (h * w) #@


class SuperRes(L.LightningModule):
    def __init__(self, lambda_freq=0.05): #@
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 12, 3, padding=1), nn.PixelShuffle(2))
        self.freq = FreqLoss()

    def training_step(self, batch, batch_idx):
        (hr,) = batch
        sr = self.net(F.avg_pool2d(hr, 2))
        pix, freq = F.l1_loss(sr, hr), self.freq(sr, hr)
        self.log_dict({"pix": pix, "freq": freq})
        return pix + self.hparams.lambda_freq * freq #@

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-4)


data = TensorDataset(torch.rand(800, 3, 192, 192))
L.Trainer(max_epochs=40).fit(SuperRes(), DataLoader(data, batch_size=8, shuffle=True))
