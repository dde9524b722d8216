import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitRegressor(L.LightningModule):
    def __init__(self, lr: float = 1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, 1))

    def _loss(self, batch):
        x, y = batch
        return F.huber_loss(self.net(x), y)

    def training_step(self, batch, batch_idx):
        loss = self._loss(batch)
        self.log("loss", loss, on_step=False, on_epoch=True)  #@
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self._loss(batch), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


if __name__ == "__main__":
    x = torch.randn(2000, 8)
    y = x.prod(1, keepdim=True)
    train_dl = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=32, shuffle=True)
    val_dl = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=100)
    checkpoint = ModelCheckpoint(dirpath="ckpts", monitor="loss", mode="min", save_top_k=1)  #@
    trainer = L.Trainer(max_epochs=50, callbacks=[checkpoint, LearningRateMonitor("epoch")])
    trainer.fit(LitRegressor(), train_dl, val_dl)
    print("best:", checkpoint.best_model_path)  #@
