import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class VAE(L.LightningModule):
    def __init__(self, dim=784, latent=16, kl_weight=1e-10): #@
        super().__init__()
        self.save_hyperparameters()
        self.enc = nn.Sequential(nn.Linear(dim, 256), nn.ReLU(), nn.Linear(256, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, 256), nn.ReLU(), nn.Linear(256, dim))

    def elbo(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=-1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        rec = F.binary_cross_entropy_with_logits(self.dec(z), x, reduction="none").sum(-1).mean()
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(-1).mean()
        return rec, kl

    def training_step(self, batch, batch_idx):
        rec, kl = self.elbo(batch[0])
        self.log_dict({"rec": rec, "kl": kl})
        return rec + self.hparams.kl_weight * kl #@

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


loader = DataLoader(TensorDataset(torch.rand(10000, 784)), batch_size=100, shuffle=True)
L.Trainer(max_epochs=30).fit(VAE(), loader) #@
