import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from data import PIXELS, WORDS


class WordTower(nn.Module):
    def __init__(self, dim, dropout):
        super().__init__()
        self.embed = nn.Embedding(WORDS, dim, padding_idx=0)
        self.mix = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Dropout(dropout))
        self.out = nn.Linear(2 * dim, dim)

    def forward(self, words):
        keep = (words != 0).unsqueeze(-1)
        h = self.mix(self.embed(words)).float()
        h = h / (h.amax(dim=-1, keepdim=True) + 1e-5)  # every word has the same peak
        return self.out((h * keep).sum(1) / keep.sum(1))


class PhotoTower(nn.Module):
    def __init__(self, dim, dropout):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(PIXELS, 2 * dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(2 * dim, dim))

    def forward(self, photo):
        return self.net(photo)


class PairModel(nn.Module):
    def __init__(self, dim, dropout, init_scale):
        super().__init__()
        self.words = WordTower(dim, dropout)
        self.photos = PhotoTower(dim, dropout)
        self.log_scale = nn.Parameter(torch.tensor(math.log(init_scale)))

    def forward(self, words, photo):
        a = F.normalize(self.words(words).float(), dim=-1)
        b = F.normalize(self.photos(photo).float(), dim=-1)
        return a, b, self.log_scale.exp()
