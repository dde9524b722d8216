import glob

import lightning as L
import torch
import torch.nn.functional as F
import torchvision.transforms as T
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


class DenoiseSet(Dataset):
    def __init__(self, pattern, train, patch=128, sigma=25 / 255):
        self.files = sorted(glob.glob(pattern))
        self.sigma = sigma
        if train:
            self.tf = T.Compose([T.RandomCrop(patch), T.RandomHorizontalFlip(), T.ToTensor()])
        else:
            self.tf = T.Compose([T.Resize(patch), T.CenterCrop(patch), T.ToTensor()]) #@

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        clean = self.tf(Image.open(self.files[i]).convert("RGB")) #@
        return clean + self.sigma * torch.randn_like(clean), clean


class Denoiser(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.GELU(), nn.Conv2d(64, 3, 3, padding=1))

    def training_step(self, batch, _):
        noisy, clean = batch
        return F.l1_loss(noisy - self.net(noisy), clean)

    def validation_step(self, batch, _):
        noisy, clean = batch
        mse = F.mse_loss((noisy - self.net(noisy)).clamp(0, 1), clean)
        self.log("val_psnr", -10 * torch.log10(mse)) #@

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4)


train = DataLoader(DenoiseSet("bsd/train/*.jpg", True), batch_size=16, shuffle=True, num_workers=4)
val = DataLoader(DenoiseSet("bsd/test/*.jpg", False), batch_size=1, num_workers=4) #@
L.Trainer(max_epochs=200).fit(Denoiser(), train, val)
