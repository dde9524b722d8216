import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

from losses import SupConLoss


class Embedder(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(100, 256), nn.ReLU(), nn.Linear(256, 64))
        self.criterion = SupConLoss() #@

    def training_step(self, batch, batch_idx):
        x, y = batch
        z = nn.functional.normalize(self.net(x), dim=1)
        loss = self.criterion(z, y) #@
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    data = TensorDataset(torch.randn(6000, 100), torch.randint(0, 10, (6000,)))
    loader = DataLoader(data, batch_size=256, shuffle=True)
    L.Trainer(accelerator="gpu", devices=1, max_epochs=20, precision="16-mixed").fit(Embedder(), loader) #@
