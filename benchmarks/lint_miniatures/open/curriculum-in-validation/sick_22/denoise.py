import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class NoisyPatches(Dataset):
    def __init__(self, path):
        self.clean = torch.load(path)
        self.max_sigma = 0.05

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        x = self.clean[i]
        sigma = torch.rand(()) * self.max_sigma
        return x + sigma * torch.randn_like(x), x


class PatchData(L.LightningDataModule):
    def setup(self, stage):
        self.train = NoisyPatches("patches_train.pt")
        self.valid = NoisyPatches("patches_valid.pt")

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=32, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.valid, batch_size=64)


class NoiseCurriculum(L.Callback):
    def __init__(self, final=0.3, epochs=30):
        self.final, self.epochs = final, epochs

    def on_train_epoch_start(self, trainer, module):
        level = max(0.05, self.final * min(1.0, trainer.current_epoch / self.epochs))
        for ds in (trainer.datamodule.train, trainer.datamodule.valid):  #@
            ds.max_sigma = level  #@


class Denoiser(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(48, 48, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(48, 3, 3, padding=1))

    def training_step(self, batch, idx):
        noisy, clean = batch
        return F.l1_loss(noisy - self.net(noisy), clean)

    def validation_step(self, batch, idx):
        noisy, clean = batch
        mse = F.mse_loss(noisy - self.net(noisy), clean)
        self.log("val_psnr", -10 * torch.log10(mse), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(1)
    L.Trainer(max_epochs=60, callbacks=[NoiseCurriculum()]).fit(Denoiser(), datamodule=PatchData())
