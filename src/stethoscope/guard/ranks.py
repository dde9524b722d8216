"""Several processes that train one model: what they share so that all of them decide alike.

Gradients are the same on all ranks by the time an optimizer steps, so a step is skipped everywhere or nowhere
without a word. What is decided later (going back, stopping) is put to the vote: each window every rank adds
its votes and its losses to one small sum, and what the sum says is done by all at the same step. The sums go
over a process group of their own, on the host: they never stand in the way of the loop's collectives.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

VOTES = ("stop", "rewind")
MOST_COMMON = 8  # snapshots that a rank tells of


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among all; `group` is where they talk."""

    rank: int = 0
    size: int = 1
    group: Any = None

    @property
    def alone(self) -> bool:
        """Whether there is nobody to agree with."""
        return self.group is None


@dataclass(frozen=True, slots=True, eq=False)
class Poll:
    """A sum over all ranks that is under way: the losses of some steps, and the votes."""

    _sum: Tensor
    _size: int
    _work: dist.Work

    def result(self) -> tuple[list[float], dict[str, bool]]:
        """The mean loss of each step, NaN where it was on any rank; and what was voted for."""
        self._work.wait()
        numbers: list[float] = self._sum.tolist()
        votes = dict(zip(VOTES, (votes > 0.0 for votes in numbers[-len(VOTES) :]), strict=True))
        return [number / self._size for number in numbers[: -len(VOTES)]], votes


def ranks() -> Ranks:
    """All processes of the training, where there are several; each of them must make its Guard."""
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return Ranks()
    return Ranks(dist.get_rank(), dist.get_world_size(), dist.new_group(backend="gloo"))


def poll(losses: Sequence[float], votes: Mapping[str, bool], ranks: Ranks) -> Poll:
    """Begin to sum losses and votes; every rank must do so at the same step."""
    own = [*losses, *(float(votes.get(name, False)) for name in VOTES)]
    whole = torch.tensor(own, dtype=torch.float64, device="cpu")
    return Poll(whole, ranks.size, dist.all_reduce(whole, group=ranks.group, async_op=True))


def all_agree(here: bool, ranks: Ranks) -> bool:
    """Whether all ranks say yes; every rank must ask."""
    votes = torch.tensor(float(here), device="cpu")
    dist.all_reduce(votes, op=dist.ReduceOp.MIN, group=ranks.group)
    return bool(votes)


def common(steps: Collection[int], ranks: Ranks) -> frozenset[int]:
    """The steps that all ranks have, of the few that each has."""
    own = sorted(steps)[-MOST_COMMON:]
    padded = torch.tensor([*own, *[-1] * (MOST_COMMON - len(own))], dtype=torch.int64, device="cpu")
    gathered = [torch.empty_like(padded) for _ in range(ranks.size)]
    dist.all_gather(gathered, padded, group=ranks.group)
    return frozenset.intersection(*(frozenset(one.tolist()) for one in gathered)) - {-1}


def earliest(step: int | None, ranks: Ranks) -> int | None:
    """The earliest of a step over all ranks; None where no rank has one."""
    number = torch.tensor([math.inf if step is None else float(step)], dtype=torch.float64, device="cpu")
    dist.all_reduce(number, op=dist.ReduceOp.MIN, group=ranks.group)
    return None if math.isinf(number.item()) else int(number.item())
