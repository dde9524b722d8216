import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Standardizer:
    def fit(self, x):
        self.mean, self.std = x.mean(0), x.std(0).clamp_min(1e-6)
        return self

    def __call__(self, x):
        return (x - self.mean) / self.std

    def inverse(self, z):
        return z * self.std + self.mean


class Houses(Dataset):
    def __init__(self, x, y, xs, ys):
        self.x, self.y = xs(x), ys(y)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class HouseData(L.LightningDataModule):
    def setup(self, stage):
        tr, va = torch.load("houses_train.pt"), torch.load("houses_valid.pt")
        self.xs, self.ys = Standardizer().fit(tr["x"]), Standardizer().fit(tr["y"])
        self.train = Houses(tr["x"], tr["y"], self.xs, self.ys)
        self.valid = Houses(va["x"], va["y"], self.xs, self.ys)

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=128, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.valid, batch_size=512)


class PriceModel(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
                                 nn.Linear(128, 1))

    def training_step(self, batch, _):
        x, y = batch
        return F.mse_loss(self.net(x).squeeze(1), y)

    def validation_step(self, batch, _):
        x, y = batch
        scale = self.trainer.datamodule.ys.inverse
        error = F.l1_loss(scale(self.net(x).squeeze(1).cpu()), scale(y.cpu()))
        self.log("val_mae_dollars", error, prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(0)
    L.Trainer(max_epochs=80).fit(PriceModel(), datamodule=HouseData())
