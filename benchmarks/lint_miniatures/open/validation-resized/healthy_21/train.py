import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, Dataset


class DocScans(Dataset):
    def __init__(self, path, patch=None):
        self.pairs, self.patch = torch.load(path), patch

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        noisy, clean = (t.float() / 255 for t in self.pairs[i])
        if self.patch:
            y = torch.randint(0, noisy.shape[1] - self.patch + 1, ()).item()
            x = torch.randint(0, noisy.shape[2] - self.patch + 1, ()).item()
            noisy = noisy[:, y:y + self.patch, x:x + self.patch]
            clean = clean[:, y:y + self.patch, x:x + self.patch]
        return noisy, clean


class HourGlass(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.down = nn.Conv2d(1, width, 4, 2, 1)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.up = nn.ConvTranspose2d(width, 1, 4, 2, 1)

    def forward(self, x):
        return x + self.up(F.relu(self.mid(F.relu(self.down(x)))))


def pad_to_multiple(x, k):
    h, w = x.shape[-2:]
    return F.pad(x, (0, -w % k, 0, -h % k), mode="reflect")


def psnr(model, noisy, clean):
    h, w = clean.shape[-2:]
    out = model(pad_to_multiple(noisy, 2))[..., :h, :w].clamp(0, 1)
    return -10 * torch.log10(F.mse_loss(out, clean).clamp_min(1e-10))


def main():
    fabric = Fabric(accelerator="auto", devices=1)
    fabric.launch()
    fabric.seed_everything(0)
    model = HourGlass()
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-3))
    train, valid = fabric.setup_dataloaders(
        DataLoader(DocScans("docs_train.pt", patch=128), 16, shuffle=True),
        DataLoader(DocScans("docs_valid.pt"), 1))
    for epoch in range(60):
        model.train()
        for noisy, clean in train:
            optimizer.zero_grad()
            fabric.backward(F.mse_loss(model(noisy), clean))
            optimizer.step()
        model.eval()
        with torch.no_grad():
            score = torch.stack([psnr(model, n, c) for n, c in valid]).mean()
        fabric.print(f"{epoch}: {score:.2f} dB")


if __name__ == "__main__":
    main()
