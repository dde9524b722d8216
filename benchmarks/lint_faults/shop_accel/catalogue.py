import torch
from torch.utils.data import Dataset

COLOURS = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]])


class Catalogue(Dataset):
    """A photo shows a coloured box; its title names colour, size and some filler words."""

    def __init__(self, start, count, pixels=16, words=7):
        self.start, self.count, self.pixels, self.words = start, count, pixels, words

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.start + i)
        draw = lambda lo, hi: int(torch.randint(lo, hi, (), generator=g))
        colour, size, row = draw(0, 6), draw(3, 10), draw(0, 6)
        photo = 0.2 * torch.rand(3, self.pixels, self.pixels, generator=g)
        photo[:, row : row + size, 2 : 2 + size] += COLOURS[colour][:, None, None]
        title = [1 + colour, 10 + size, 20 + row] + [draw(30, 64) for _ in range(draw(0, self.words - 3))]
        return {"photo": photo, "title": torch.tensor(title + [0] * (self.words - len(title)))}
