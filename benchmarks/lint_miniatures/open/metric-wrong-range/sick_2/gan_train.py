import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
from torchmetrics.image import PeakSignalNoiseRatio
from torchvision import transforms
from torchvision.datasets import ImageFolder

tf = transforms.Compose([
    transforms.ToTensor(),
    transforms.Normalize([0.5] * 3, [0.5] * 3),  #@
])


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 16, 4, 2, 1))
        self.dec = nn.Sequential(nn.ConvTranspose2d(16, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())

    def forward(self, x):
        return self.dec(self.enc(x))


def main():
    train_dl = DataLoader(ImageFolder("faces/train", tf), batch_size=64, shuffle=True)
    val_dl = DataLoader(ImageFolder("faces/val", tf), batch_size=64)
    model = AutoEncoder()
    opt = torch.optim.Adam(model.parameters(), lr=2e-4, betas=(0.5, 0.999))
    psnr = PeakSignalNoiseRatio(data_range=1.0)  #@
    for epoch in range(30):
        model.train()
        for img, _ in train_dl:
            opt.zero_grad()
            F.mse_loss(model(img), img).backward()
            opt.step()
        model.eval()
        psnr.reset()
        with torch.no_grad():
            for img, _ in val_dl:
                psnr.update(model(img), img)  #@
        print(epoch, psnr.compute().item())


if __name__ == "__main__":
    main()
