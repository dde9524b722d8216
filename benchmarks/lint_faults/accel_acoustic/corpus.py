"""Phones with durations and log-mel frames, padded per batch."""
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset


class Utterances(Dataset):
    def __init__(self, n, symbols, n_mels, seed, stats=None):
        g = torch.Generator().manual_seed(1234)
        self.bank = torch.randn(symbols, n_mels, generator=g) * 2 - 4
        self.rows = [self._make(torch.Generator().manual_seed(seed * 10_007 + i), symbols) for i in range(n)]
        if stats is None:
            frames = torch.cat([mel for _, _, mel in self.rows])
            stats = frames.mean(0), frames.std(0)
        self.stats = stats

    def _make(self, g, symbols):
        n = int(torch.randint(4, 10, (), generator=g))
        phones = torch.randint(1, symbols, (n,), generator=g)
        durs = 1 + (phones % 4) + torch.randint(0, 2, (n,), generator=g)
        mel = self.bank[phones].repeat_interleave(durs, 0)
        return phones, durs, mel + 0.1 * torch.randn(mel.shape, generator=g)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        phones, durs, mel = self.rows[i]
        mean, std = self.stats
        return phones, durs, (mel - mean) / std


def collate(rows):
    phones, durs, mels = zip(*rows)
    return {
        "phones": pad_sequence(phones, batch_first=True),
        "durs": pad_sequence(durs, batch_first=True),
        "mels": pad_sequence(mels, batch_first=True),
        "n_frames": torch.tensor([len(m) for m in mels]),
    }
