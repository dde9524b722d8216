import argparse

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitRegressor(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 64))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("train_mse", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr) #@


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2e-5)
    parser.add_argument("--precision", default="bf16-true") #@
    args = parser.parse_args()
    x = torch.randn(10000, 64)
    loader = DataLoader(TensorDataset(x, x.cumsum(1) / 8), batch_size=64, shuffle=True)
    trainer = L.Trainer(max_epochs=30, accelerator="gpu", devices=1, precision=args.precision) #@
    trainer.fit(LitRegressor(args.lr), loader)


if __name__ == "__main__":
    main()
