import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.scale = dim ** -0.5

    def forward(self, x):
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        q, k = q.float(), k.float() #@
        scores = q @ k.transpose(-1, -2) #@
        return (scores * self.scale).softmax(-1).to(v.dtype) @ v


class LitSeq(L.LightningModule):
    def __init__(self, dim=256):
        super().__init__()
        self.embed = nn.Linear(16, dim)
        self.attn = Attention(dim)
        self.out = nn.Linear(dim, 1)

    def training_step(self, batch, _):
        x, y = batch
        h = self.embed(x)
        loss = F.mse_loss(self.out(h + self.attn(h)), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


data = TensorDataset(torch.randn(1000, 40, 16), torch.randn(1000, 40, 1))
trainer = L.Trainer(precision="16-mixed", accelerator="gpu", devices=1, max_epochs=10) #@
trainer.fit(LitSeq(), DataLoader(data, batch_size=32, shuffle=True))
