from dataclasses import dataclass
from typing import Optional

import lightning as L
import torch
import torch.nn.functional as F
import tyro
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Args:
    epochs: int = 10
    lr: float = 1e-3
    batch_size: int = 64
    resume_from: Optional[str] = None  #@


class Sentiment(L.LightningModule):
    def __init__(self, lr, vocab=25000, width=128):
        super().__init__()
        self.save_hyperparameters()
        self.embed = nn.EmbeddingBag(vocab, width)
        self.head = nn.Sequential(nn.Dropout(0.3), nn.Linear(width, 3))

    def forward(self, ids):
        return self.head(self.embed(ids))

    def training_step(self, batch, _):
        ids, label = batch
        return F.cross_entropy(self(ids), label)

    def validation_step(self, batch, _):
        ids, label = batch
        self.log("val_acc", (self(ids).argmax(1) == label).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main(args: Args):
    L.seed_everything(0)
    train = DataLoader(TensorDataset(*torch.load("tweets_train.pt")), args.batch_size, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("tweets_valid.pt")), args.batch_size)
    checkpoint = ModelCheckpoint("runs/sentiment", monitor="val_acc", mode="max", save_last=True)
    trainer = L.Trainer(max_epochs=args.epochs, callbacks=[checkpoint])
    trainer.fit(Sentiment(args.lr), train, valid)  #@


if __name__ == "__main__":
    main(tyro.cli(Args))
