import lightning as L
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from attention import Encoder


class Gestures(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = Encoder()

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.model(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_acc", (self.model(x).argmax(1) == y).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def loader(split):
    return DataLoader(TensorDataset(*torch.load(f"imu_{split}.pt")), 64, shuffle=split == "train")


if __name__ == "__main__":
    L.seed_everything(0)
    L.Trainer(max_epochs=25, accelerator="gpu", devices=1).fit(
        Gestures(), loader("train"), loader("val"))
