import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class BiasFreeLayerNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1, channels, 1, 1))

    def forward(self, x):
        sigma = x.var(dim=1, keepdim=True, unbiased=False)
        return x / torch.sqrt(sigma + 1e-5) * self.weight


class Denoiser(L.LightningModule):
    def __init__(self, width=48):
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, padding=1)
        self.norm = BiasFreeLayerNorm(width)
        self.tail = nn.Conv2d(width, 3, 3, padding=1)

    def training_step(self, batch, batch_idx):
        noisy, clean = batch
        out = self.tail(F.gelu(self.norm(self.head(noisy))))
        loss = F.l1_loss(noisy + out, clean)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-4)


if __name__ == "__main__":
    clean = torch.rand(256, 3, 64, 64)
    loader = DataLoader(TensorDataset(clean + 0.1 * torch.randn_like(clean), clean), batch_size=16, shuffle=True)
    trainer = L.Trainer(max_epochs=50, accelerator="gpu", devices=1, precision="32-true")
    trainer.fit(Denoiser(), loader)
