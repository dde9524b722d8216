"""Shuffles a data set in an order that a restart can go on with, at the very sample where it stopped.

## What it does
The order of an epoch is a pure function of `seed` and the number of the epoch (`epoch_order`), so it can be
made again at any time. `ResumableSampler` is a sampler for `DataLoader` that knows the epoch and the position
in it, and both are in its `state_dict`. `sampler.counted(loader)` hands out the loader's batches and counts
what *training* has taken; the loader's workers fetch ahead, and what they have fetched is not yet trained on.

When an epoch is over, the next one begins by itself. With `rank` and `ranks` each process gets its part of
the same order; the epoch is filled up from its start so that all have equally many.

## The failure it prevents
A resumed run that begins its epoch again sees the first part of the data twice and the last part never. The
training loss drops right after the resume, because those samples were just seen, and the drop is taken for
progress. A sampler that draws its order from the global random numbers cannot go on at all: after a restart
the order is another one. With a crash every 1000 steps in an epoch of 1500, the last third of each order is
never trained on.

A second trap is in `DataLoader` itself: making its iterator draws one number from the global generator. In
the run that is not stopped this happens once an epoch, in the resumed one once more, and every dropout mask
after it is another one. `counted` takes that draw back when it resumes inside an epoch. None of the four
origin systems could resume its data: the diffusion system parsed `--resume_checkpoint` and never used it, and
the deblurring system gave back weights and the schedule's count, and nothing else.

## When not to use it
With something between the loader and `counted` that drops samples: put `counted` next to the loader, and
filters around it. For data that is streamed, and has no length; `torchdata`'s `StatefulDataLoader` can resume
that. Random numbers that worker processes draw for augmentation are seeded when the workers start, so after
a resume inside an epoch they are others; seed them from the sample's number and the epoch if they must be
the same.

## Example

    import torch
    from stethoscope.blocks import ResumableSampler

    data = torch.utils.data.TensorDataset(torch.arange(10.0))
    sampler = ResumableSampler(data, seed=7)
    loader = torch.utils.data.DataLoader(data, batch_size=4, sampler=sampler)
    for epoch in range(sampler.epoch, 2):
        for (batch,) in sampler.counted(loader):
            print(epoch, sampler.position, batch.tolist())

## References
- `torch.utils.data.distributed.DistributedSampler`
- accelerate, issues 2823 and 3996, on batches skipped wrongly after a resume
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import Any, TypeVar

import torch
from torch.utils.data import Sampler

from stethoscope.blocks.accumulation import samples_in

Batch = TypeVar("Batch")


def epoch_order(size: int, *, seed: int, epoch: int, shuffle: bool = True) -> list[int]:
    """The order of the samples in an epoch, the same whenever and wherever it is asked for."""
    if not shuffle:
        return list(range(size))
    # Mixed and not added: seed 0 in epoch 1 must not be seed 1 in epoch 0. The generator takes 32 bits.
    mixed = hashlib.sha256(f"{seed} {epoch}".encode()).digest()[:4]
    generator = torch.Generator().manual_seed(int.from_bytes(mixed, "big"))
    return torch.randperm(size, generator=generator).tolist()


def rank_order(order: list[int], *, rank: int, ranks: int) -> list[int]:
    """What one of several processes takes of an order; all get equally many, filled up from its start."""
    each = -(-len(order) // ranks)
    return [order[place % len(order)] for place in range(rank, each * ranks, ranks)]


class ResumableSampler(Sampler[int]):
    """The order of a data set's samples, from where training stands.

    `epoch` counts from 0; `position` is how many samples of this epoch training has taken in this process.
    """

    def __init__(
        self, data: Sized | int, *, seed: int = 0, shuffle: bool = True, rank: int = 0, ranks: int = 1
    ) -> None:
        self.size = data if isinstance(data, int) else len(data)
        if self.size < 1:
            raise ValueError("the data set is empty; there is no order of no samples")
        if not 0 <= rank < ranks:
            raise ValueError(f"rank is {rank} of {ranks} ranks; they are counted from 0")
        self.seed, self.shuffle, self.rank, self.ranks = seed, shuffle, rank, ranks
        self.epoch = 0
        self.position = 0

    def __iter__(self) -> Iterator[int]:
        """The samples of this epoch that training has not taken yet."""
        order = epoch_order(self.size, seed=self.seed, epoch=self.epoch, shuffle=self.shuffle)
        yield from rank_order(order, rank=self.rank, ranks=self.ranks)[self.position :]

    def __len__(self) -> int:
        """How many samples of this epoch are left."""
        return -(-self.size // self.ranks) - self.position

    def counted(
        self, loader: Iterable[Batch], samples: Callable[[Batch], int] = samples_in
    ) -> Iterator[Batch]:
        """The batches of a loader over this sampler, counted as they are taken; then the next epoch begins.

        `samples` says how many are in a batch: by default the length of its first tensor. Samples that the
        loader leaves out at the end (`drop_last`) count as taken with the epoch.
        """
        before = torch.get_rng_state() if self.position else None
        batches = iter(loader)
        if before is not None:
            torch.set_rng_state(before)
        for batch in batches:
            self.position += samples(batch)
            yield batch
        self.epoch += 1
        self.position = 0

    def state_dict(self) -> dict[str, Any]:
        """Where training stands, and what the order is made of."""
        return {"epoch": self.epoch, "position": self.position, **self._form()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of the same data; in another order a position would mean nothing."""
        changed = {key: state[key] for key, value in self._form().items() if state[key] != value}
        if changed:
            here = {key: self._form()[key] for key in changed}
            raise ValueError(f"the order was saved with {changed} and is {here} here")
        self.epoch, self.position = int(state["epoch"]), int(state["position"])

    def _form(self) -> dict[str, Any]:
        return {"size": self.size, "seed": self.seed, "shuffle": self.shuffle, "ranks": self.ranks}
