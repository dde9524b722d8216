"""Made-up postal addresses, already split into word ids, with one tag per word."""
import random

import torch
from torch.utils.data import Dataset

PAD, CLS = 0, 1
TAGS = ["O", "NAME", "STREET", "NUMBER", "CITY"]
RANGES = {"O": (2, 10), "NAME": (10, 30), "STREET": (25, 50), "NUMBER": (50, 60), "CITY": (60, 80)}
VOCAB = 80
IGNORE = -100


class Addresses(Dataset):
    def __init__(self, size, seed):
        rng = random.Random(seed)
        self.rows = [self._make(rng) for _ in range(size)]

    @staticmethod
    def _make(rng):
        ids, tags = [CLS], [IGNORE]
        for tag in ("NAME", "O", "STREET", "NUMBER", "O", "CITY"):
            if tag == "O" and rng.random() < 0.4:
                continue
            for _ in range(rng.randint(1, 3)):
                ids.append(rng.randrange(*RANGES[tag]))
                tags.append(TAGS.index(tag))
        return {"input_ids": ids, "labels": tags}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class TagCollator:
    """Pads a list of rows; what is padded has no label."""

    def __init__(self, pad_id=PAD, label_pad=IGNORE):
        self.pad_id, self.label_pad = pad_id, label_pad

    def _fill(self, rows, value):
        width = max(map(len, rows))
        return torch.tensor([row + [value] * (width - len(row)) for row in rows])

    def __call__(self, features):
        ids = self._fill([f["input_ids"] for f in features], self.pad_id)
        labels = self._fill([f["labels"] for f in features], self.label_pad)
        return {"input_ids": ids, "attention_mask": (ids != self.pad_id).long(), "labels": labels}
