import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from data import Trajectories


class Denoiser(L.LightningModule):
    def __init__(self, dim=64):
        super().__init__()
        self.inp = nn.Linear(4, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 128, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(dim, 4)

    def training_step(self, batch, batch_idx):
        x, mask = batch
        noisy = x + 0.1 * torch.randn_like(x)
        h = self.encoder(self.inp(noisy), src_key_padding_mask=~mask)
        loss = F.mse_loss(self.out(h), x) #@
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4)


L.Trainer(max_epochs=20).fit(Denoiser(), DataLoader(Trajectories(), batch_size=32, shuffle=True))
