import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Deblur(L.LightningModule):
    def __init__(self, max_strength=1.0, ramp_epochs=40):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 3, 3, padding=1))
        self.register_buffer("kernel", torch.full((3, 1, 5, 5), 1 / 25))

    @property
    def strength(self):
        return self.hparams.max_strength * min(1.0, (self.current_epoch + 1) / self.hparams.ramp_epochs) #@

    def degrade(self, sharp):
        blurred = F.conv2d(sharp, self.kernel, padding=2, groups=3)
        return torch.lerp(sharp, blurred, self.strength) #@

    def _step(self, batch):
        (sharp,) = batch
        return F.l1_loss(self.net(self.degrade(sharp)), sharp) #@

    def training_step(self, batch, batch_idx):
        return self._step(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val_l1", self._step(batch), prog_bar=True) #@

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-4)


x = torch.rand(2200, 3, 64, 64)
train = DataLoader(TensorDataset(x[:2000]), batch_size=16, shuffle=True)
val = DataLoader(TensorDataset(x[2000:]), batch_size=16)
L.Trainer(max_epochs=80).fit(Deblur(), train, val)
