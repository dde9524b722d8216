"""Four-band satellite tiles, reflectance in [0, 1] on disk, [-1, 1] for the network."""
import torch

SCENE = 24


def scene(seed):
    g = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, 4, 4, 4, generator=g)
    land = torch.nn.functional.interpolate(coarse, size=(SCENE, SCENE), mode="bicubic", align_corners=False)[0]
    return land.clamp(0, 1)


class TileStore:
    def __init__(self, count, first_seed, size):
        self.scenes = torch.stack([scene(first_seed + i) for i in range(count)])
        self.size = size

    def _cut(self, x, top, left):
        return x[..., top:top + self.size, left:left + self.size] * 2 - 1

    def stream(self, batch):
        """Endless training batches: a new order and new places with every pass."""
        while True:
            order = torch.randperm(len(self.scenes))
            for rows in order.split(batch):
                top, left = torch.randint(0, SCENE - self.size + 1, (2,)).tolist()
                yield self._cut(self.scenes[rows], top, left)

    def centre(self, batch):
        margin = (SCENE - self.size) // 2
        for rows in self.scenes.split(batch):
            yield self._cut(rows, margin, margin)
