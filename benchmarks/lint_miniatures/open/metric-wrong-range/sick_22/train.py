import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchmetrics.image import StructuralSimilarityIndexMeasure


class Microscopy(Dataset):
    def __init__(self, path):
        self.raw, self.clean = torch.load(path)

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        return self.raw[i].float() / 255, self.clean[i].float() / 255


class Restorer(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Conv2d(1, 64, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(64, 1, 3, padding=1))
        self.ssim = StructuralSimilarityIndexMeasure(data_range=255.0)  #@

    def forward(self, x):
        return x + self.net(x)

    def training_step(self, batch, batch_idx):
        raw, clean = batch
        return F.mse_loss(self(raw), clean)

    def validation_step(self, batch, batch_idx):
        raw, clean = batch
        out = self(raw).clamp(0, 1)
        self.ssim(out, clean)  #@
        self.log("val_ssim", self.ssim, on_epoch=True, prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main():
    L.seed_everything(0)
    train = DataLoader(Microscopy("tubulin_train.pt"), 16, shuffle=True, num_workers=4)
    valid = DataLoader(Microscopy("tubulin_valid.pt"), 16, num_workers=4)
    L.Trainer(max_epochs=50).fit(Restorer(), train, valid)


if __name__ == "__main__":
    main()
