"""Dataset, features and network of the keyword spotter."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from .engine import DATASETS, MODELS, TRANSFORMS


@DATASETS.register
class ToneWords(Dataset):
    """Energy maps (bands x frames) of "words" that glide up, down, stay or wobble."""

    def __init__(self, num, seed, gain_jitter, bands=24, frames=32):
        self.num, self.seed, self.gain_jitter = num, seed, gain_jitter
        self.bands, self.frames = bands, frames

    def __len__(self):
        return self.num

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 1_000_003 + i)
        word = i % 4
        t = torch.linspace(0, 1, self.frames)
        base = 6 + 8 * torch.rand((), generator=g)
        path = base + [6 * t, -6 * t, 0 * t, 3 * torch.sin(12 * t)][word]
        band = torch.arange(self.bands).float()[:, None]
        energy = torch.exp(-((band - path) ** 2) / 4) + 0.1 * torch.rand(self.bands, self.frames, generator=g)
        if self.gain_jitter:
            energy = energy * (1 + self.gain_jitter * (2 * torch.rand(()) - 1))
        return torch.log(energy + 1e-3), word


@TRANSFORMS.register
class DeltaFeatures:
    """The log energies and their time derivatives up to the given order, as channels."""

    def __init__(self, order):
        self.order = order

    def __call__(self, x):
        x = x - x.mean(dim=(1, 2), keepdim=True)
        channels = [x]
        for _ in range(self.order):
            last = F.pad(channels[-1], (1, 1), mode="replicate")
            channels.append((last[..., 2:] - last[..., :-2]) / 2)
        return torch.stack(channels, dim=1)


class Residual(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(ch, ch, 3, padding=1, bias=False), nn.BatchNorm2d(ch)
        self.conv2, self.bn2 = nn.Conv2d(ch, ch, 3, padding=1, bias=False), nn.BatchNorm2d(ch)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(h)))


@MODELS.register
class Res8(nn.Module):
    def __init__(self, in_channels, width, num_classes, drop_rate):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(in_channels, width, 3, padding=1), nn.AvgPool2d(2))
        self.stages = nn.Sequential(Residual(width), Residual(width))
        self.drop = nn.Dropout(drop_rate)
        self.fc = nn.Linear(width, num_classes)

    def forward(self, x, target=None):
        logits = self.fc(self.drop(self.stages(self.stem(x)).mean(dim=(2, 3))))
        out = {"logits": logits}
        if target is not None:
            out["loss"] = F.cross_entropy(logits.float(), target)
        return out
