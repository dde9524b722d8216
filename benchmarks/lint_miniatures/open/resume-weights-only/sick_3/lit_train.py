import argparse

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitAE(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(100, 16), nn.ReLU(), nn.Linear(16, 100))

    def training_step(self, batch, batch_idx):
        return F.mse_loss(self.net(batch[0]), batch[0])

    def validation_step(self, batch, batch_idx):
        self.log("val_mse", F.mse_loss(self.net(batch[0]), batch[0]))

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return [opt], [torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=50)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume_from", default=None)
    args = parser.parse_args()
    x = torch.randn(2200, 100)
    train_dl = DataLoader(TensorDataset(x[:2000]), batch_size=40, shuffle=True)
    val_dl = DataLoader(TensorDataset(x[2000:]), batch_size=100)
    if args.resume_from:
        model = LitAE.load_from_checkpoint(args.resume_from)  #@
    else:
        model = LitAE()
    L.Trainer(max_epochs=50).fit(model, train_dl, val_dl)  #@


if __name__ == "__main__":
    main()
