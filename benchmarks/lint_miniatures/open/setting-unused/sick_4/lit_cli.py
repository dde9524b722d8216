from argparse import ArgumentParser

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitRNN(L.LightningModule):
    def __init__(self, hidden, lr):
        super().__init__()
        self.lr = lr
        self.rnn, self.head = nn.GRU(4, hidden, batch_first=True), nn.Linear(hidden, 1)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])

    def training_step(self, batch, batch_idx):
        return F.mse_loss(self(batch[0]), batch[1])

    def validation_step(self, batch, batch_idx):
        self.log("val_mse", F.mse_loss(self(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def main():
    p = ArgumentParser()
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--max-epochs", type=int, default=20)
    p.add_argument("--gradient-clip-val", type=float, default=1.0)  #@
    args = p.parse_args()
    x = torch.randn(2000, 50, 4)
    y = x.sum((1, 2), keepdim=True).squeeze(2)
    trainer = L.Trainer(max_epochs=args.max_epochs, log_every_n_steps=10)  #@
    trainer.fit(LitRNN(args.hidden, args.lr), DataLoader(TensorDataset(x[:1800], y[:1800]), 30, shuffle=True),
                DataLoader(TensorDataset(x[1800:], y[1800:]), 100))


if __name__ == "__main__":
    main()
