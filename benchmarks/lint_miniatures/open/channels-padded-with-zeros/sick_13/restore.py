import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset, Dataset


class ToThreeChannels(Dataset):
    def __init__(self, base):
        self.base = base

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        (img,) = self.base[i]
        return F.pad(img, (0, 0, 0, 0, 0, 3 - img.shape[0])) #@


class Restorer(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 3, 3, padding=1)
        )

    def training_step(self, clean, batch_idx):
        noisy = clean + 0.1 * torch.randn_like(clean)
        loss = F.l1_loss(noisy - self.body(noisy), clean) #@
        self.log("train_l1", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-4)


gray = TensorDataset(torch.rand(4000, 1, 64, 64))
color = TensorDataset(torch.rand(1000, 3, 64, 64))
dataset = ConcatDataset([ToThreeChannels(gray), ToThreeChannels(color)]) #@
L.Trainer(max_epochs=30).fit(Restorer(), DataLoader(dataset, batch_size=16, shuffle=True))
