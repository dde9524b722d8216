import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.functional.image import structural_similarity_index_measure as ssim


class PerceptualLoss(nn.Module):
    def __init__(self, alpha=0.84):
        super().__init__()
        self.alpha = alpha

    def forward(self, pred, target):
        structure = ssim(pred, target, data_range=1.0)
        return self.alpha * structure + (1 - self.alpha) * F.l1_loss(pred, target)  #@


class Dehazer(L.LightningModule):
    def __init__(self, width=48, lr=2e-4):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(width, 3, 3, padding=1), nn.Sigmoid())
        self.criterion = PerceptualLoss()  #@

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        hazy, clear = batch
        loss = self.criterion(self(hazy), clear)  #@
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        hazy, clear = batch
        mse = F.mse_loss(self(hazy), clear)
        self.log("val_psnr", -10 * torch.log10(mse), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


if __name__ == "__main__":
    L.seed_everything(0)
    train = DataLoader(TensorDataset(*torch.load("haze_train.pt")), 8, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("haze_valid.pt")), 8)
    L.Trainer(max_epochs=60).fit(Dehazer(), train, valid)
