from __future__ import annotations

import random
from typing import Iterator

import torch
import torch.distributed as dist
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, DistributedSampler, RandomSampler, Sampler, SequentialSampler

PAD = 0
IGNORE = -100
QUEUES = ("billing", "network", "access", "hardware")
TAGS = ("urgent", "vip", "angry")
SLOTS = ("O", "DEVICE", "AMOUNT")


class Tickets(Dataset):
    """Synthetic tickets, stored queue by queue as the export writes them."""

    def __init__(self, count: int, vocab: int, seed: int):
        rng = random.Random(seed)
        self.rows = []
        for i in range(count):
            queue = i * len(QUEUES) // count
            tags = [rng.random() < 0.3 for _ in TAGS]
            words = [rng.randrange(20, vocab) for _ in range(rng.randint(5, 14))]
            words[0] = 1 + queue
            words += [10 + k for k, on in enumerate(tags) if on]
            rng.shuffle(words)
            slots = [1 if w % 7 == 0 else 2 if w % 11 == 0 else 0 for w in words]
            self.rows.append((words, queue, tags, slots))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int):
        return self.rows[i]


def collate(rows) -> dict[str, torch.Tensor]:
    words, queue, tags, slots = zip(*rows)

    def pad(columns, value):
        return pad_sequence([torch.tensor(c) for c in columns], batch_first=True, padding_value=value)

    return {
        "words": pad(words, PAD),
        "queue": torch.tensor(queue),
        "tags": torch.tensor(tags, dtype=torch.float),
        "slots": pad(slots, IGNORE),
    }


def sampler_for(dataset: Dataset, training: bool) -> Sampler:
    if not training:
        return SequentialSampler(dataset)
    if dist.is_initialized():
        return DistributedSampler(dataset, drop_last=True)
    return RandomSampler(dataset)


class TicketData:
    def __init__(self, train: int, dev: int, vocab: int, batch_size: int):
        self.vocab, self.batch_size = vocab, batch_size
        self.sets = {"train": Tickets(train, vocab, seed=1), "dev": Tickets(dev, vocab, seed=2)}
        self.loaders = {name: self._loader(name) for name in self.sets}

    def _loader(self, name: str) -> DataLoader:
        data = self.sets[name]
        return DataLoader(data, self.batch_size, sampler=sampler_for(data, name == "train"), collate_fn=collate)

    def epoch(self, number: int) -> Iterator[dict[str, torch.Tensor]]:
        loader = self.loaders["train"]
        if isinstance(loader.sampler, DistributedSampler):
            loader.sampler.set_epoch(number)
        yield from loader

    def dev(self) -> Iterator[dict[str, torch.Tensor]]:
        yield from self.loaders["dev"]
