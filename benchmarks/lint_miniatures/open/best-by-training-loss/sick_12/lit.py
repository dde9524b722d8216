import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(12, 64), nn.SiLU(), nn.Linear(64, 1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss, on_step=False, on_epoch=True) #@
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_mse", nn.functional.mse_loss(self.net(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


x = torch.randn(2000, 12)
y = x[:, :1] * x[:, 1:2]
train = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=100)
checkpoint = ModelCheckpoint(monitor="loss", mode="min", save_top_k=1, filename="best-{epoch}") #@
trainer = L.Trainer(max_epochs=50, callbacks=[checkpoint, LearningRateMonitor()])
trainer.fit(Regressor(), train, val)
print("best checkpoint:", checkpoint.best_model_path) #@
