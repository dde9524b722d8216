import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ema_callback import EMACallback


class KeypointModel(L.LightningModule):
    def __init__(self, points=17):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 64, 3, 2, 1), nn.GroupNorm(8, 64), nn.ReLU(),
                                 nn.Conv2d(64, 128, 3, 2, 1), nn.GroupNorm(8, 128), nn.ReLU(),
                                 nn.Conv2d(128, points, 1))

    def training_step(self, batch, _):
        image, heat = batch
        loss = F.mse_loss(self.net(image), heat)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        image, heat = batch
        self.log("val_loss", F.mse_loss(self.net(image), heat), prog_bar=True)  #@

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def loader(split):
    return DataLoader(TensorDataset(*torch.load(f"pose_{split}.pt")), 32, shuffle=split == "train")


if __name__ == "__main__":
    L.seed_everything(0)
    trainer = L.Trainer(max_epochs=50, callbacks=[EMACallback()])  #@
    trainer.fit(KeypointModel(), loader("train"), loader("valid"))
