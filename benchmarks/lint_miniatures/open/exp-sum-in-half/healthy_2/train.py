import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Embedder(L.LightningModule):
    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature
        self.net = nn.Sequential(nn.Linear(100, 256), nn.ReLU(), nn.Linear(256, 64))

    def contrast(self, z, labels):
        z = F.normalize(z, dim=-1)
        sim = torch.cdist(z, z).neg() / self.temperature
        eye = torch.eye(len(z), device=z.device, dtype=torch.bool)
        pos = (labels[:, None] == labels[None, :]) & ~eye
        log_prob = sim - torch.logsumexp(sim.masked_fill(eye, float("-inf")), dim=1, keepdim=True)
        return -(log_prob * pos).sum(1).div(pos.sum(1).clamp(min=1)).mean()

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.contrast(self.net(x), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    data = TensorDataset(torch.randn(6000, 100), torch.randint(0, 10, (6000,)))
    loader = DataLoader(data, batch_size=256, shuffle=True)
    L.Trainer(accelerator="gpu", devices=1, max_epochs=20, precision="16-mixed").fit(Embedder(), loader)
