import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

from transforms import Compose, GaussianNoise, GrayToRGB


class Thermal(Dataset):
    def __init__(self, path, transform):
        self.frames, self.counts = torch.load(path)
        self.transform = transform

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, i):
        return self.transform(self.frames[i][None].float() / 4095), self.counts[i].float()


class CrowdCounter(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 32, 5, 2), nn.ReLU(), nn.Conv2d(32, 64, 5, 2),
                                 nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)

    def training_step(self, batch, _):
        x, n = batch
        return F.smooth_l1_loss(self(x), n)

    def validation_step(self, batch, _):
        x, n = batch
        self.log("val_mae", F.l1_loss(self(x), n), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(0)
    train = Thermal("thermal_train.pt", Compose(GrayToRGB(), GaussianNoise(0.05)))  #@
    valid = Thermal("thermal_valid.pt", GrayToRGB())
    L.Trainer(max_epochs=30).fit(CrowdCounter(), DataLoader(train, 32, shuffle=True, num_workers=2),
                                 DataLoader(valid, 64, num_workers=2))
