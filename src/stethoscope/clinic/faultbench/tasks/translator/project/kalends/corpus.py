"""Pairs of spoken and written dates, and the order in which they are fed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from kalends.vocabulary import FILL, START


class Pairs(Dataset):
    """One item is (spoken, written, manner, trust); sequences come without what filled them up."""

    def __init__(self, root: Path, split: str, first: int = 0):
        with np.load(root / f"{split}.npz") as arrays:
            keep = slice(first or None)
            self.spoken = torch.from_numpy(arrays["source"][keep])
            self.written = torch.from_numpy(arrays["target"][keep])
            self.manner = torch.from_numpy(arrays["manner"][keep])
            self.trust = torch.from_numpy(arrays["trust"][keep])

    def __len__(self) -> int:
        return len(self.spoken)

    def __getitem__(self, number: int):
        spoken, written = self.spoken[number], self.written[number]
        return spoken[spoken != FILL], written[written != FILL], self.manner[number], self.trust[number]

    def short(self) -> Tensor:
        """Which pairs are written in figures."""
        return self.manner < 2


@dataclass
class Batch:
    """Pairs side by side: `given` is what the decoder is shown, `wanted` what it has to say."""

    spoken: Tensor
    given: Tensor
    wanted: Tensor
    manner: Tensor
    trust: Tensor

    def __len__(self) -> int:
        return len(self.spoken)


def collate(items) -> Batch:
    spoken, written, manner, trust = zip(*items)
    wanted = torch.nn.utils.rnn.pad_sequence(written, batch_first=True, padding_value=FILL)
    given = torch.cat([torch.full_like(wanted[:, :1], START), wanted[:, :-1]], dim=1)
    return Batch(
        torch.nn.utils.rnn.pad_sequence(spoken, batch_first=True, padding_value=FILL),
        given,
        wanted,
        torch.stack(manner),
        torch.stack(trust),
    )


class EpochOrder(Sampler):
    """The order of one epoch depends on the seed and the epoch alone, so that it can be taken up anywhere."""

    def __init__(self, pairs: Pairs, reshuffle: bool, seed: int, short_epochs: int):
        self.pairs, self.reshuffle, self.seed, self.short_epochs = pairs, reshuffle, seed, short_epochs
        self.epoch, self.skip = 0, 0

    def __iter__(self) -> Iterator[int]:
        order = torch.arange(len(self.pairs))
        if self.reshuffle:
            generator = torch.Generator().manual_seed(1000 * self.seed + self.epoch)
            order = torch.randperm(len(self.pairs), generator=generator)
        if self.epoch < self.short_epochs:
            order = order[self.pairs.short()[order]]
        yield from order[self.skip :].tolist()

    def __len__(self) -> int:
        return len(self.pairs) - self.skip


class Feed:
    """Batches without end; it knows the epoch and how many pairs of it were given out."""

    def __init__(self, order: EpochOrder, size: int):
        self.order, self.size = order, min(size, len(order.pairs))
        self.taken = 0

    def __iter__(self) -> Iterator[Batch]:
        while True:
            loader = DataLoader(
                self.order.pairs,
                batch_size=self.size,
                sampler=self.order,
                collate_fn=collate,
                drop_last=True,
            )
            for batch in loader:
                self.taken += len(batch)
                yield batch
            self.order.epoch, self.order.skip, self.taken = self.order.epoch + 1, 0, 0

    def state_dict(self) -> dict:
        return {"epoch": self.order.epoch, "taken": self.taken}

    def load_state_dict(self, state: dict) -> None:
        self.order.epoch = state["epoch"]
        self.order.skip = self.taken = state["taken"]
