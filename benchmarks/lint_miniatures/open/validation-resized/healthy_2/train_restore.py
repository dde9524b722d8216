from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.io import read_image


class Pairs(Dataset):
    def __init__(self, root, patch=None):
        self.paths, self.patch = sorted(Path(root).glob("*.png")), patch

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        clean = read_image(str(self.paths[i])).float() / 255
        if self.patch is not None:
            y = int(torch.randint(clean.shape[1] - self.patch + 1, ()))
            x = int(torch.randint(clean.shape[2] - self.patch + 1, ()))
            clean = clean[:, y:y + self.patch, x:x + self.patch]
        g = None if self.patch is not None else torch.Generator().manual_seed(i)
        return clean + 0.1 * torch.randn(clean.shape, generator=g), clean


def infer_padded(net, x, multiple=8):
    h, w = x.shape[-2:]
    x = F.pad(x, (0, -w % multiple, 0, -h % multiple), mode="reflect")
    return net(x)[..., :h, :w]


net = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-4)
train_dl = DataLoader(Pairs("train", patch=64), batch_size=16, shuffle=True)
val_dl = DataLoader(Pairs("val"), batch_size=1)
for epoch in range(30):
    net.train()
    for noisy, clean in train_dl:
        opt.zero_grad()
        F.mse_loss(net(noisy), clean).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        mse = [F.mse_loss(infer_padded(net, n).clamp(0, 1), c) for n, c in val_dl]
    print(epoch, (-10 * torch.log10(torch.stack(mse))).mean().item())
