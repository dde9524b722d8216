import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def charbonnier(pred, target, eps=1e-9): #@
    diff = pred - target
    return torch.sqrt(diff * diff + eps).mean() #@


class Enhancer(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 3, 3, padding=1))

    def training_step(self, batch, batch_idx):
        (clean,) = batch
        clean = clean.half() #@
        noisy = clean + 0.05 * torch.randn_like(clean)
        loss = charbonnier(self.net(noisy), clean) #@
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-4)


if __name__ == "__main__":
    loader = DataLoader(TensorDataset(torch.rand(3000, 3, 64, 64)), batch_size=16, shuffle=True, num_workers=2)
    trainer = L.Trainer(max_epochs=30, accelerator="gpu", devices=1, precision="16-mixed") #@
    trainer.fit(Enhancer(), loader)
