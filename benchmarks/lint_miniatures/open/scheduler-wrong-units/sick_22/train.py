import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GlucoseForecaster(L.LightningModule):
    def __init__(self, lr=1e-3, width=96, horizon=12):
        super().__init__()
        self.save_hyperparameters()
        self.conv = nn.Conv1d(4, width, 5, padding=2)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, horizon)

    def forward(self, x):
        h = F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return self.head(self.rnn(h)[0][:, -1])

    def training_step(self, batch, _):
        x, y = batch
        loss = F.mse_loss(self(x), y)
        self.log("train_mse", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_rmse", F.mse_loss(self(x), y).sqrt(), prog_bar=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer,
            T_max=self.trainer.max_epochs,  #@
            eta_min=1e-6,
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},  #@
        }


def loader(split, batch_size=64):
    data = TensorDataset(*torch.load(f"cgm_{split}.pt"))
    return DataLoader(data, batch_size, shuffle=split == "train", num_workers=2)


if __name__ == "__main__":
    L.seed_everything(0)
    trainer = L.Trainer(max_epochs=40, gradient_clip_val=1.0)
    trainer.fit(GlucoseForecaster(), loader("train"), loader("valid"))
