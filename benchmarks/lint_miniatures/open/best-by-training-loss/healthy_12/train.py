import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Autoencoder(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(50, 8), nn.ReLU(), nn.Linear(8, 50))

    def _shared(self, batch, stage):
        (x,) = batch
        loss = nn.functional.mse_loss(self.net(x), x)
        self.log(f"{stage}_loss", loss, on_step=False, on_epoch=True)
        return loss

    def training_step(self, batch, batch_idx):
        return self._shared(batch, "train")

    def validation_step(self, batch, batch_idx):
        self._shared(batch, "val")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


x = torch.randn(3000, 50)
train = DataLoader(TensorDataset(x[:2700]), batch_size=30, shuffle=True)
val = DataLoader(TensorDataset(x[2700:]), batch_size=100)
callbacks = [ModelCheckpoint(monitor="val_loss", mode="min"), EarlyStopping("val_loss", patience=5)]
L.Trainer(max_epochs=100, callbacks=callbacks).fit(Autoencoder(), train, val)
