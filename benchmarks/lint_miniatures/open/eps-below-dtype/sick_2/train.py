import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class DiceLoss(nn.Module):
    def __init__(self, smooth=1e-10): #@
        super().__init__()
        self.smooth = smooth

    def forward(self, probs, target):
        inter = (probs * target).mean(dim=(1, 2, 3))
        union = (probs + target).mean(dim=(1, 2, 3))
        return 1 - (2 * inter / (union + self.smooth)).mean() #@


class Segmenter(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 3, padding=1))
        self.criterion = DiceLoss() #@

    def training_step(self, batch, batch_idx):
        image, mask = batch
        probs = torch.sigmoid(self.net(image))
        loss = self.criterion(probs, mask.to(probs.dtype)) #@
        self.log("dice_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    masks = (torch.rand(400, 1, 64, 64) > 0.9).float()
    loader = DataLoader(TensorDataset(masks + 0.2 * torch.randn_like(masks), masks), batch_size=8, shuffle=True)
    L.Trainer(max_epochs=30, accelerator="gpu", devices=1, precision="16-mixed").fit(Segmenter(), loader) #@
