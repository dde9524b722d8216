"""Accumulates gradients over several micro-batches so that the update is that of one big batch.

## What it does
`accumulated(loader, every)` hands out the micro-batches of a loader in groups of `every`, each with its
`share` of the group and the word when to step:

    share = samples (or tokens) of this micro-batch / those of its whole group

The shares of a group add up to 1, so `(loss * micro.share).backward()` of *mean* losses gives the mean over
the group, also for the last, shorter group of an epoch and for micro-batches of unequal size. For losses
that are means over tokens, pass `weigh`, which counts the tokens. The group is fetched before its first
micro-batch is handed out; only then is its total known.

`micro.syncing(model)` keeps DDP from exchanging gradients before the last micro-batch of a group. With
`across_ranks=True` the totals are those of all ranks, so that tokens count alike wherever they lie. A
GradScaler is used as ever: scale and backward each micro-batch, unscale, clip, step and update at the last.
`optimizer_steps(batches, every)` is the length of an epoch for schedules and curricula.

## The failure it prevents
- No division: gradients and logged loss are `every` times too large. Dividing by `every` makes the last group
  of an epoch too small: of 10 micro-batches in groups of 4, the last two count half.
- A mean of means over unequal token counts: two micro-batches with 100 and 1 tokens count alike, and the lone
  token weighs as much as the other hundred. Several training libraries had this fault: losses differed with
  the split of the same batch.
- The diffusion system logged "effective batch 64" for 4 x 16 and stepped after every 4: the accumulation was
  parsed and never used. A loop that is driven by `micro.is_last` cannot do that.

## When not to use it
When the whole batch fits: accumulation is slower, never better. It does not help layers and losses that
look at the whole batch (BatchNorm, contrastive losses): they see micro-batches. It holds `every`
micro-batches in memory, so keep them on the host until they are used. Under DDP all ranks need the same
number of micro-batches.

## Example

    import torch
    from stethoscope.blocks import accumulated, optimizer_steps

    data = torch.utils.data.TensorDataset(torch.randn(70, 3), torch.randn(70, 1))
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    steps = 0
    for micro in accumulated(loader, every=4):
        x, y = micro.batch
        with micro.syncing(model):
            loss = torch.nn.functional.mse_loss(model(x), y)
            (loss * micro.share).backward()
        if micro.is_last:
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
    print(steps, optimizer_steps(len(loader), every=4))

## References
- `torch.nn.parallel.DistributedDataParallel.no_sync`
- transformers, pull request 34191, on the mean of means
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from stethoscope.blocks._samples import first_length

Batch = TypeVar("Batch")


@dataclass(frozen=True, slots=True, eq=False)
class MicroBatch(Generic[Batch]):
    """One micro-batch of a group.

    `share` is what its mean loss is multiplied with, a number or a tensor without a gradient; `is_last` says
    that the optimizer steps after it; `number` counts from 0 in a group of `group_size`.
    """

    batch: Batch
    share: float | Tensor
    is_last: bool
    number: int
    group_size: int

    def syncing(self, model: nn.Module) -> AbstractContextManager[Any]:
        """Keep DDP from exchanging gradients before the last micro-batch; nothing for other models."""
        no_sync = getattr(model, "no_sync", None)
        return nullcontext() if self.is_last or no_sync is None else no_sync()


def optimizer_steps(micro_batches: int, every: int) -> int:
    """How many optimizer steps a number of micro-batches makes, the last one with what is left."""
    return -(-micro_batches // every)


def shares(counts: Sequence[int | float | Tensor], *, across_ranks: bool = False) -> list[float | Tensor]:
    """What part of its group each micro-batch is, by its samples or tokens.

    `across_ranks` measures against the mean over all ranks, as DDP averages their gradients.
    """
    if across_ranks and torch.distributed.is_initialized():
        return _shares_over_ranks(counts)
    if any(isinstance(count, Tensor) for count in counts):
        tensors = _as_tensors(counts)
        total = torch.stack(tensors).sum()
        # A group without a token teaches nothing; zero by zero would be NaN.
        return [count / total.clamp(min=1) for count in tensors]
    whole = sum(counts)
    if whole <= 0:
        raise ValueError(f"the micro-batches of a group count {list(counts)}; together that is nothing")
    return [count / whole for count in counts]


def samples_in(batch: Any) -> int:
    """The number of samples in a batch: the length of the first tensor in it, however deep it lies."""
    found = first_length(batch)
    if found is None:
        raise ValueError(
            f"a batch of type {type(batch).__name__} holds no tensor to count samples by; say how"
        )
    return found


def accumulated(
    loader: Iterable[Batch],
    every: int,
    *,
    weigh: Callable[[Batch], int | float | Tensor] = samples_in,
    across_ranks: bool = False,
) -> Iterator[MicroBatch[Batch]]:
    """Hand out micro-batches in groups of `every`, the last one with what is left, each with its share."""
    if every < 1:
        raise ValueError(f"every is {every}; a group has at least one micro-batch")
    batches = iter(loader)
    while group := list(islice(batches, every)):
        parts = shares([weigh(batch) for batch in group], across_ranks=across_ranks)
        size = len(group)
        for number, share in enumerate(parts):
            # Taken out, so that a batch that was used can be let go.
            yield MicroBatch(group.pop(0), share, number == size - 1, number, size)


def _shares_over_ranks(counts: Sequence[int | float | Tensor]) -> list[float | Tensor]:
    tensors = _as_tensors(counts)
    total = torch.stack(tensors).sum()
    torch.distributed.all_reduce(total)
    mean = total / torch.distributed.get_world_size()
    return [torch.where(total > 0, count / mean, torch.zeros_like(mean)) for count in tensors]


def _as_tensors(counts: Sequence[int | float | Tensor]) -> list[Tensor]:
    """The counts as 0-dimensional tensors of one device, in double precision: 2^24 tokens are not many."""
    device = next((count.device for count in counts if isinstance(count, Tensor)), _exchange_device())
    dtype = torch.float32 if device.type == "mps" else torch.float64  # Apple's GPUs have no double
    return [torch.as_tensor(count, dtype=dtype, device=device).detach() for count in counts]


def _exchange_device() -> torch.device:
    """Where ranks exchange numbers: NCCL knows nothing of the host's memory."""
    is_nccl = torch.distributed.is_initialized() and "nccl" in torch.distributed.get_backend()
    return torch.device("cuda", torch.cuda.current_device()) if is_nccl else torch.device("cpu")
