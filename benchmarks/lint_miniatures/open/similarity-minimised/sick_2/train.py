import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.functional.image import structural_similarity_index_measure


class Restorer(L.LightningModule):
    def __init__(self, lr=2e-4, ssim_weight=0.2):
        super().__init__()
        self.lr = lr
        self.ssim_weight = ssim_weight
        self.net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1))

    def training_step(self, batch, batch_idx):
        degraded, clean = batch
        restored = self.net(degraded)
        l1 = F.l1_loss(restored, clean)
        ssim = structural_similarity_index_measure(restored, clean, data_range=1.0) #@
        loss = l1 + self.ssim_weight * ssim #@
        self.log_dict({"l1": l1, "ssim": ssim})
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


clean = torch.rand(400, 3, 64, 64)
loader = DataLoader(TensorDataset((clean + 0.1 * torch.randn_like(clean)).clamp(0, 1), clean), batch_size=16, shuffle=True)
L.Trainer(max_epochs=30).fit(Restorer(), loader)
