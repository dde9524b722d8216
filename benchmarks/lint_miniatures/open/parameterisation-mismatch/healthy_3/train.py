import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor(L.LightningModule):
    def __init__(self, features=10, hidden=64, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.body = nn.Sequential(nn.Linear(features, hidden), nn.ReLU())
        self.mean = nn.Linear(hidden, 1)
        self.log_var = nn.Linear(hidden, 1)
        self.nll = nn.GaussianNLLLoss()

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), self.log_var(h).clamp(-8, 8)

    def training_step(self, batch, batch_idx):
        x, log_price = batch
        mean, log_var = self(x)
        loss = self.nll(mean, log_price, log_var.exp())
        self.log("nll", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


x = torch.randn(4000, 10)
price = torch.exp(x[:, :1] + 0.3 * torch.randn(4000, 1))
loader = DataLoader(TensorDataset(x, price.log()), batch_size=64, shuffle=True)
L.Trainer(max_epochs=30).fit(Regressor(), loader)
