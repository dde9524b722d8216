import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from layers import Block


class Denoiser(L.LightningModule):
    def __init__(self, width=48, depth=6, lr=2e-4):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), *[Block(width) for _ in range(depth)], nn.Conv2d(width, 3, 3, padding=1)
        )

    def training_step(self, batch, batch_idx):
        noisy, clean = batch
        loss = F.l1_loss(noisy + self.net(noisy), clean)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


if __name__ == "__main__":
    clean = torch.rand(256, 3, 64, 64)
    loader = DataLoader(TensorDataset(clean + 0.1 * torch.randn_like(clean), clean), batch_size=16, shuffle=True)
    trainer = L.Trainer(max_epochs=50, accelerator="gpu", devices=1, precision="16-mixed") #@
    trainer.fit(Denoiser(), loader)
