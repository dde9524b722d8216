import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class FrequencyLoss(nn.Module):
    def __init__(self, weight=0.1):
        super().__init__()
        self.weight = weight

    def forward(self, pred, target):
        fp = torch.fft.fft2(pred, norm="ortho") #@
        ft = torch.fft.fft2(target, norm="ortho") #@
        return self.weight * (fp - ft).abs().mean()


class Deblur(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), nn.Conv2d(64, 3, 5, padding=2))
        self.freq = FrequencyLoss()

    def training_step(self, batch, batch_idx):
        blurred, sharp = batch
        out = self.net(blurred)
        return F.l1_loss(out, sharp) + self.freq(out, sharp) #@

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)


sharp = torch.rand(1000, 3, 120, 120)
blurred = F.avg_pool2d(sharp, 5, 1, 2)
loader = DataLoader(TensorDataset(blurred, sharp), batch_size=8, shuffle=True)
L.Trainer(max_epochs=50, accelerator="gpu", devices=1, precision="16-mixed").fit(Deblur(), loader) #@
