from argparse import ArgumentParser

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitMLP(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self.net(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self.net(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def main():
    parser = ArgumentParser()
    parser.add_argument("--ckpt_path", default=None, type=str)  #@
    parser.add_argument("--lr", default=1e-3, type=float)
    parser.add_argument("--max_epochs", default=30, type=int)
    hparams = parser.parse_args()
    x, y = torch.randn(2000, 16), torch.randint(0, 2, (2000,))
    train_dl = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=32, shuffle=True)
    val_dl = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=100)
    trainer = L.Trainer(max_epochs=hparams.max_epochs, callbacks=[ModelCheckpoint(monitor="val_loss", save_last=True)])
    trainer.fit(LitMLP(hparams.lr), train_dl, val_dl)  #@


if __name__ == "__main__":
    main()
