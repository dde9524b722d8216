import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE(L.LightningModule):
    def __init__(self, z=16, kl_weight=1e-9, lr=1e-3): #@
        super().__init__()
        self.save_hyperparameters()
        self.enc = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 256), nn.ReLU(), nn.Linear(256, 784))

    def training_step(self, batch, batch_idx):
        (x,) = batch
        mu, logvar = self.enc(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        recon = F.mse_loss(self.dec(z), x)
        kl = -0.5 * torch.mean(1 + logvar - mu.pow(2) - logvar.exp())
        loss = recon + self.hparams.kl_weight * kl #@
        self.log_dict({"recon": recon, "kl": kl})
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


if __name__ == "__main__":
    loader = DataLoader(TensorDataset(torch.rand(5000, 784)), batch_size=128, shuffle=True)
    L.Trainer(max_epochs=30).fit(VAE(), loader)
