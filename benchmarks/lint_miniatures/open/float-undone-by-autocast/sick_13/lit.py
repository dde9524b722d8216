import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class FP32Wrapper(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module.float()

    def forward(self, x):
        dtype = x.dtype
        return self.module(x.float()).to(dtype) #@


class DepthNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU())
        self.head = FP32Wrapper(nn.Sequential(nn.Conv2d(64, 16, 1), nn.PixelShuffle(4))) #@

    def training_step(self, batch, batch_idx):
        image, depth = batch
        loss = nn.functional.l1_loss(self.head(self.encoder(image)), depth) #@
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-4)


data = TensorDataset(torch.rand(1500, 3, 64, 64), torch.rand(1500, 1, 64, 64))
trainer = L.Trainer(max_epochs=20, accelerator="gpu", devices=1, precision="16-mixed") #@
trainer.fit(DepthNet(), DataLoader(data, batch_size=16, shuffle=True))
