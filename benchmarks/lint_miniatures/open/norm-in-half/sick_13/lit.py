import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ResponseNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(dim, 1, 1))
        self.beta = nn.Parameter(torch.zeros(dim, 1, 1))

    def forward(self, x):
        mean = x.mean(dim=(2, 3), keepdim=True) #@
        var = (x * x).mean(dim=(2, 3), keepdim=True) - mean * mean #@
        return self.gamma * ((x - mean) / (var.relu() + 1e-3).sqrt()) + self.beta #@


class ConvNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 96, 4, 4), nn.GELU(), nn.Conv2d(96, 96, 3, padding=1), ResponseNorm(96), #@
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 10),
        )

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=4e-4)


data = TensorDataset(torch.randn(2000, 3, 128, 128), torch.randint(0, 10, (2000,)))
trainer = L.Trainer(max_epochs=10, accelerator="gpu", devices=1, precision="16-mixed") #@
trainer.fit(ConvNet(), DataLoader(data, batch_size=32, shuffle=True))
