import math

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

from frontend import SAMPLE_RATE

BLANK = 0
N_PHONES = 6


class ToneCorpus(Dataset):
    """Each phone is a tone of its own, 60 to 100 ms long."""

    def __init__(self, size, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = [self._utterance(g) for _ in range(size)]

    @staticmethod
    def _utterance(g):
        phones = torch.randint(1, N_PHONES + 1, (int(torch.randint(3, 7, (), generator=g)),), generator=g)
        pieces = []
        for p in phones.tolist():
            n = int(torch.randint(480, 800, (), generator=g))
            pieces.append(torch.sin(2 * math.pi * 450 * p * torch.arange(n) / SAMPLE_RATE))
            pieces.append(torch.zeros(160))
        wave = torch.cat(pieces)
        return wave + 0.05 * torch.randn(wave.shape, generator=g), phones

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    waves, phones = zip(*batch)
    return {
        "wave": pad_sequence(waves, batch_first=True),
        "wave_len": torch.tensor([len(w) for w in waves]),
        "phones": torch.cat(phones),
        "phone_len": torch.tensor([len(p) for p in phones]),
    }
