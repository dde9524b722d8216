import tomllib

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from net import SmallResNet


class Classifier(L.LightningModule):
    def __init__(self, network, lr, label_smoothing):
        super().__init__()
        self.net = SmallResNet(width=network["width"], drop_path=network["drop_path"])  #@
        self.criterion = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
        self.lr = lr

    def training_step(self, batch, _):
        x, y = batch
        return self.criterion(self.net(x), y)

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_acc", (self.net(x).argmax(1) == y).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


if __name__ == "__main__":
    with open("options.toml", "rb") as f:
        opt = tomllib.load(f)
    L.seed_everything(0)
    tr = opt["train"]
    train = DataLoader(TensorDataset(*torch.load("svhn_train.pt")), tr["batch_size"], shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("svhn_valid.pt")), tr["batch_size"])
    L.Trainer(max_epochs=tr["epochs"]).fit(
        Classifier(opt["network"], tr["lr"], tr["label_smoothing"]), train, valid)
