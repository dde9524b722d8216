import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset


class FaceCrops(Dataset):
    def __init__(self, path):
        self.images = torch.load(path)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        hr = self.images[i].float() / 127.5 - 1
        lr = F.interpolate(hr[None], scale_factor=0.25, mode="bicubic", antialias=True)[0]
        return lr, hr


def to_unit(x):
    return (x.clamp(-1, 1) + 1) / 2


def psnr(a, b, max_val=1.0):
    mse = (a - b).square().mean((1, 2, 3))
    return 10 * torch.log10(max_val ** 2 / mse.clamp_min(1e-10))


class Upscaler(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.SiLU(),
                                 nn.Conv2d(width, width, 3, padding=1), nn.SiLU(),
                                 nn.Conv2d(width, 48, 3, padding=1), nn.PixelShuffle(4))

    def forward(self, lr):
        return torch.tanh(self.net(lr))


def main():
    set_seed(0)
    acc = Accelerator()
    model = Upscaler()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    train = DataLoader(FaceCrops("faces_train.pt"), 16, shuffle=True, num_workers=2)
    valid = DataLoader(FaceCrops("faces_valid.pt"), 16, num_workers=2)
    model, optimizer, train, valid = acc.prepare(model, optimizer, train, valid)
    for epoch in range(30):
        model.train()
        for lr, hr in train:
            optimizer.zero_grad()
            acc.backward(F.l1_loss(model(lr), hr))
            optimizer.step()
        model.eval()
        scores = []
        with torch.no_grad():
            for lr, hr in valid:
                scores.append(acc.gather_for_metrics(psnr(to_unit(model(lr)), to_unit(hr))))
        acc.print(f"epoch {epoch} psnr {torch.cat(scores).mean():.2f}")


if __name__ == "__main__":
    main()
