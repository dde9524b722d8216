import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2


class Photos(Dataset):
    def __init__(self, paths, transform):
        self.images = [torch.load(p) for p in paths]
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        hr = self.transform(self.images[i].float() / 255)
        lr = F.interpolate(hr[None], scale_factor=0.5, mode="bicubic", antialias=True)[0]
        return lr.clamp(0, 1), hr


class PhotoData(L.LightningDataModule):
    def __init__(self, train_paths, valid_paths, patch=96):
        super().__init__()
        self.train = Photos(train_paths, v2.RandomCrop(patch))
        self.valid = Photos(valid_paths, v2.Resize((patch, patch), antialias=True))  #@

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=16, shuffle=True, num_workers=2)

    def val_dataloader(self):
        return DataLoader(self.valid, batch_size=16, num_workers=2)  #@


class SuperRes(L.LightningModule):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, width, 5, padding=2), nn.PReLU(),
                                 nn.Conv2d(width, width, 3, padding=1), nn.PReLU(),
                                 nn.Conv2d(width, 12, 3, padding=1), nn.PixelShuffle(2))

    def training_step(self, batch, _):
        lr, hr = batch
        return F.l1_loss(self.net(lr), hr)

    def validation_step(self, batch, _):
        lr, hr = batch
        mse = F.mse_loss(self.net(lr).clamp(0, 1), hr)
        self.log("val_psnr", -10 * torch.log10(mse), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=4e-4)


if __name__ == "__main__":
    L.seed_everything(0)
    data = PhotoData([f"div2k/train/{i:04d}.pt" for i in range(800)],
                     [f"div2k/valid/{i:04d}.pt" for i in range(100)])
    L.Trainer(max_epochs=200).fit(SuperRes(), datamodule=data)
