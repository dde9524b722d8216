"""Bird calls as log-mel patches. `toy` makes chirps so that the code can be tried without xeno-canto."""
import torch
from torch.utils.data import Dataset


class ChirpPatches(Dataset):
    def __init__(self, n, mels, frames, seed=0, two_views=True):
        self.n, self.mels, self.frames, self.seed, self.two_views = n, mels, frames, seed, two_views

    def __len__(self):
        return self.n

    def clean(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_003 + i)
        start, slope = torch.rand(2, generator=g)
        t = torch.linspace(0, 1, self.frames)
        ridge = (0.2 + 0.6 * start + 0.3 * (slope - 0.5) * t) * self.mels
        bins = torch.arange(self.mels)[:, None]
        return torch.exp(-0.5 * ((bins - ridge) / 1.5) ** 2)

    def view(self, x):
        x = torch.roll(x, int(torch.randint(-2, 3, ())), dims=0)
        lo = int(torch.randint(0, self.frames - 4, ()))
        x = x.clone()
        x[:, lo : lo + 3] = 0
        return (x * (0.7 + 0.6 * torch.rand(())) + 0.1 * torch.randn_like(x)).unsqueeze(0)

    def __getitem__(self, i):
        x = self.clean(i)
        if self.two_views:
            return self.view(x), self.view(x)
        g = torch.Generator().manual_seed(i)
        return (x + 0.1 * torch.randn(x.shape, generator=g)).unsqueeze(0), torch.roll(x, 1, dims=0).unsqueeze(0)
