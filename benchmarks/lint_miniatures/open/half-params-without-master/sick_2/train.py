import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class LitUNet(L.LightningModule):
    def __init__(self, lr=1e-5):
        super().__init__()
        self.lr = lr
        self.down = nn.Conv2d(3, 32, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(32, 32, 3, padding=1)
        self.up = nn.ConvTranspose2d(32, 3, 4, stride=2, padding=1)

    def forward(self, x):
        h = F.silu(self.down(x))
        return self.up(h + F.silu(self.mid(h)))

    def training_step(self, batch, batch_idx):
        noisy, clean = batch
        loss = F.mse_loss(self(noisy), clean)
        self.log("train/loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr) #@


if __name__ == "__main__":
    clean = torch.rand(500, 3, 64, 64)
    loader = DataLoader(TensorDataset(clean + 0.1 * torch.randn_like(clean), clean), batch_size=16, shuffle=True)
    trainer = L.Trainer(accelerator="gpu", devices=1, precision="bf16-true", max_epochs=40) #@
    trainer.fit(LitUNet(), loader)
