import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

from model import GaussianHead


class Regressor(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.model = GaussianHead()
        self.nll = nn.GaussianNLLLoss() #@

    def training_step(self, batch, batch_idx):
        x, y = batch
        mean, var = self.model(x) #@
        loss = self.nll(mean, y, var.abs()) #@
        self.log("nll", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


x = torch.randn(4000, 10)
y = x[:, :1] + 0.3 * torch.randn(4000, 1)
L.Trainer(max_epochs=30).fit(Regressor(), DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True))
