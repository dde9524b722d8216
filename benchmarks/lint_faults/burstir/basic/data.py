import torch
from torch.utils.data import Dataset

from basic.registry import DATASET_REGISTRY


def read_burst(index, size=48):
    """Stands for the decoder of a camera: two to four noisy frames in [0, 1], and the long exposure."""
    g = torch.Generator().manual_seed(index)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    fx, fy, ph = torch.rand(3, generator=g)
    scene = 0.5 + 0.4 * torch.sin(xx * (0.1 + fx) + yy * (0.1 + fy) + 6 * ph)
    n = int(torch.randint(2, 5, (), generator=g))
    shots = [(scene + 0.1 * torch.randn(size, size, generator=g)).clamp(0, 1) for _ in range(n)]
    return torch.stack(shots), scene[None]


@DATASET_REGISTRY.register()
class BurstDataset(Dataset):
    def __init__(self, count, offset, frames, patch):
        self.count, self.offset, self.frames, self.patch = count, offset, frames, patch

    def __len__(self):
        return self.count

    def fill(self, burst):
        """Short bursts are filled up with their first frame."""
        missing = self.frames - len(burst)
        if missing > 0:
            burst = torch.cat([burst, burst[:1].expand(missing, -1, -1)])
        return burst

    def __getitem__(self, i):
        burst, gt = read_burst(self.offset + i)
        lq = self.fill(burst)
        if self.patch:
            y, x = torch.randint(lq.shape[-1] - self.patch + 1, (2,)).tolist()
            lq = lq[:, y : y + self.patch, x : x + self.patch]
            gt = gt[:, y : y + self.patch, x : x + self.patch]
            if torch.rand(()) < 0.5:
                lq, gt = lq.flip(-1), gt.flip(-1)
        return {"lq": lq, "gt": gt}
