from argparse import ArgumentParser

import lightning as L
import torch
import torch.nn.functional as F
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

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def main(resume, lr, max_epochs):
    x, y = torch.randn(2000, 16), torch.randint(0, 2, (2000,))
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    L.Trainer(max_epochs=max_epochs).fit(LitMLP(lr), loader, ckpt_path="last" if resume else None)


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--lr", default=1e-3, type=float)
    parser.add_argument("--max_epochs", default=30, type=int)
    main(**vars(parser.parse_args()))
