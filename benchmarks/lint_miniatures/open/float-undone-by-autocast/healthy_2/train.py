import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class LitSeq(L.LightningModule):
    def __init__(self, dim=256):
        super().__init__()
        self.embed = nn.Linear(16, dim)
        self.qkv = nn.Linear(dim, dim * 3)
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.embed(x)
        q, k, v = self.qkv(h).chunk(3, dim=-1)
        scores = (q * q.size(-1) ** -0.5) @ k.transpose(-1, -2)
        weights = scores.float().softmax(-1)
        return self.out(h + weights.to(v.dtype) @ v).float()

    def training_step(self, batch, _):
        x, y = batch
        loss = F.mse_loss(self(x), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


data = TensorDataset(torch.randn(1000, 40, 16), torch.randn(1000, 40, 1))
trainer = L.Trainer(precision="16-mixed", accelerator="gpu", devices=1, max_epochs=10)
trainer.fit(LitSeq(), DataLoader(data, batch_size=32, shuffle=True))
