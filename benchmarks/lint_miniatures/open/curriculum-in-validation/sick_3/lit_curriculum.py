import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Inpainter(L.LightningModule):
    def __init__(self, max_ratio=0.75, ramp_epochs=20):
        super().__init__()
        self.max_ratio, self.ramp_epochs = max_ratio, ramp_epochs
        self.net = nn.Sequential(nn.Conv2d(4, 32, 5, padding=2), nn.ReLU(), nn.Conv2d(32, 3, 5, padding=2))

    @property
    def mask_ratio(self):  #@
        return self.max_ratio * min(1.0, (self.current_epoch + 1) / self.ramp_epochs)  #@

    def _shared_step(self, batch):
        (img,) = batch
        keep = (torch.rand_like(img[:, :1]) > self.mask_ratio).float()  #@
        out = self.net(torch.cat([img * keep, keep], dim=1))
        return F.l1_loss(out, img)

    def training_step(self, batch, batch_idx):
        loss = self._shared_step(batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self._shared_step(batch))  #@

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    x = torch.rand(600, 3, 32, 32)
    train_dl = DataLoader(TensorDataset(x[:500]), batch_size=25, shuffle=True)
    val_dl = DataLoader(TensorDataset(x[500:]), batch_size=50)
    trainer = L.Trainer(max_epochs=40, callbacks=[ModelCheckpoint(monitor="val_loss", mode="min")])
    trainer.fit(Inpainter(), train_dl, val_dl)
