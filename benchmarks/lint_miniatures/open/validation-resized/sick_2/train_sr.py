from pathlib import Path

import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T

SCALE = 2
tf = T.Compose([T.RandomCrop(96), T.RandomHorizontalFlip(), T.ToTensor()])  #@


class SRFolder(Dataset):
    def __init__(self, root, transform):
        self.paths = sorted(Path(root).glob("*.png"))
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, idx):
        hr = self.transform(Image.open(self.paths[idx]).convert("RGB"))
        lr = F.interpolate(hr[None], scale_factor=1 / SCALE, mode="bicubic", antialias=True)[0]
        return lr, hr


def validate(model, loader):
    model.eval()
    with torch.no_grad():
        vals = [-10 * torch.log10(F.mse_loss(model(lr).clamp(0, 1), hr)) for lr, hr in loader]
    return torch.stack(vals).mean().item()


def main():
    train_dl = DataLoader(SRFolder("DIV2K/train", tf), batch_size=16, shuffle=True)
    val_dl = DataLoader(SRFolder("DIV2K/valid", tf), batch_size=1)  #@
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.PReLU(), nn.Conv2d(64, 12, 3, padding=1), nn.PixelShuffle(SCALE))
    opt = torch.optim.Adam(model.parameters(), lr=1e-4)
    best = 0.0
    for epoch in range(100):
        model.train()
        for lr, hr in train_dl:
            opt.zero_grad()
            F.l1_loss(model(lr), hr).backward()
            opt.step()
        psnr = validate(model, val_dl)
        if psnr > best:
            best = psnr
            torch.save(model.state_dict(), "best_sr.pt")


if __name__ == "__main__":
    main()
