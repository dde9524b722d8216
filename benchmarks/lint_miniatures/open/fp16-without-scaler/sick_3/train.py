import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Autoencoder(L.LightningModule):
    def __init__(self, latent=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 256), nn.ReLU(), nn.Linear(256, 784))

    def training_step(self, batch, batch_idx):
        (x,) = batch
        with torch.autocast("cuda", dtype=torch.float16): #@
            recon = self.decoder(self.encoder(x))
            loss = F.mse_loss(recon, x)
        self.log("train_loss", loss)
        return loss #@

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    loader = DataLoader(TensorDataset(torch.rand(5000, 784)), batch_size=128, shuffle=True)
    trainer = L.Trainer(max_epochs=15, accelerator="gpu", devices=1) #@
    trainer.fit(Autoencoder(), loader)
