import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class PreciseHead(nn.Module):
    def __init__(self, width, outputs):
        super().__init__()
        self.mix = nn.Conv1d(width, width, 1)
        self.out = nn.Linear(width, outputs)

    def forward(self, h):
        with torch.autocast(h.device.type, enabled=False):
            h = h.float()
            return self.out(self.mix(h).mean(-1))


class LocalizationNet(L.LightningModule):
    """Regresses metric coordinates from channel impulse responses."""

    def __init__(self, width=96, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(nn.Conv1d(8, width, 7, 2, 3), nn.BatchNorm1d(width), nn.ReLU(),
                                  nn.Conv1d(width, width, 7, 2, 3), nn.BatchNorm1d(width), nn.ReLU())
        self.head = PreciseHead(width, 2)

    def forward(self, cir):
        return self.head(self.body(cir))

    def training_step(self, batch, _):
        cir, xy = batch
        loss = F.huber_loss(self(cir), xy.float())
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        cir, xy = batch
        self.log("val_error_m", (self(cir).float() - xy).norm(dim=1).mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def loader(split):
    train = split == "train"
    return DataLoader(TensorDataset(*torch.load(f"uwb_{split}.pt")), 64, shuffle=train,
                      drop_last=train, num_workers=2)


if __name__ == "__main__":
    L.seed_everything(0)
    trainer = L.Trainer(max_epochs=50, precision="16-mixed", accelerator="gpu", devices=1)
    trainer.fit(LocalizationNet(), loader("train"), loader("valid"))
