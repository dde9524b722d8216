"""Takes samples with NaN or infinity out of a batch before the network sees them, and says which.

## What it does
Every floating-point tensor of a batch is looked at, inputs and targets, however deep they lie in dicts, lists
and tuples. A sample with a value that is not finite is dropped from *all* of them, the rest of the batch goes
on. With `refill=True` its place is taken by another sample of the same batch, so that the shape stays: for
`torch.compile`, and for ranks that must agree on the number of steps. With `only_report=True` nothing is
changed.

`FiniteBatches(loader)` stands around a loader and remembers where the first bad samples were.
`FiniteCollate()` does the same as a collate function, in the worker processes, and its counts are those of
all workers. Both count samples seen and dropped, batches touched and batches with nothing left. Past `limit`,
a fraction or a number of samples, they raise: a filter that drops everything would look like a fast epoch.

## The failure it prevents
One sample with one NaN makes the loss NaN, the gradient NaN and, without a GradScaler, every weight NaN: in
a small training in float32 all 400 steps from the one bad batch on were NaN. With a scaler the step is
skipped, and 31 good samples of 32 with it. The BatchNorm statistics are worse: they take the NaN in during
the *forward* pass, where no skipped step protects them, and evaluation is NaN from then on while the training
loss looks well. Dropping the sample before the forward pass keeps weights, statistics and the other samples.

The deblurring system skipped whole batches whose loss was not finite, without a count and without a limit.
In a small copy of it 184 of 300 steps were skipped that way, 95 of them in a row, and nothing said so.

## When not to use it
To hide a network that overflows: this looks at data, and a loss that is NaN on finite data is another fault.
Where most samples of a data set are broken, mend the data set. On tensors of a GPU the number of samples left
must be read by the host; stand around the loader, before the batch is moved. Integers cannot be NaN: labels
out of range and token ids are not checked. Samples that are dropped are not replaced by others of the data
set, so an epoch sees them never; the report says which.

## Example

    import torch
    from stethoscope.blocks import FiniteBatches

    images = torch.rand(64, 3, 8, 8)
    images[5, 0, 0, 0] = float("nan")
    data = torch.utils.data.TensorDataset(images, torch.arange(64))
    loader = torch.utils.data.DataLoader(data, batch_size=16)
    batches = FiniteBatches(loader, limit=0.05)
    for image, label in batches:
        assert image.isfinite().all()
    print(batches.report())

## References
- `torch.utils.data.default_collate`
- `torch.nn.BatchNorm2d`, whose running statistics take in every forward pass of training
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import default_collate, get_worker_info

from stethoscope.blocks._samples import first_length

MOST_REMEMBERED = 1000  # places of dropped samples; the counts go on
FEWEST_FOR_FRACTION = 10  # dropped samples; before that a fraction says nothing
MOST_WORKERS = 256  # each counts in a row of its own, so that none overwrites another's
_COUNTS = ("batches", "samples", "dropped", "touched", "emptied")


class TooManyBadSamples(ValueError):
    """More samples were not finite than the limit allows."""


@dataclass(frozen=True, slots=True)
class FilterReport:
    """What a filter has seen: batches, samples, samples that were not finite, and batches they were in.

    `emptied` batches had no finite sample. `places` are the first bad samples, as (batch, row), or what
    `index_key` holds for them.
    """

    batches: int
    samples: int
    dropped: int
    touched: int
    emptied: int
    places: tuple[Any, ...] = ()

    def __str__(self) -> str:
        """The report as a sentence."""
        if not self.dropped:
            return f"all {self.samples} samples of {self.batches} batches are finite"
        where = ", ".join(map(str, self.places[:10])) + (", ..." if self.dropped > 10 else "")
        return (
            f"{self.dropped} of {self.samples} samples are not finite, in {self.touched} of {self.batches} "
            f"batches ({self.emptied} with nothing left)" + (f": {where}" if where else "")
        )


def finite_rows(batch: Any, *, allow: Collection[str] = ()) -> Tensor:
    """Which samples of a batch are finite in all their floating-point values; one truth value for each.

    Tensors below a key in `allow` may hold anything, as masks of infinities do. A bad value in a tensor
    without a place for each sample belongs to all of them.
    """
    length = _length(batch)
    good: Tensor | None = None
    for one, key in _leaves(batch, ""):
        if not isinstance(one, Tensor) or key in allow or not (one.is_floating_point() or one.is_complex()):
            continue
        finite = one.detach().isfinite()
        rows = finite.reshape(length, -1).all(1) if _has_rows(one, length) else finite.all().expand(length)
        good = rows if good is None else good & rows.to(good.device)
    return torch.ones(length, dtype=torch.bool) if good is None else good


def take_rows(batch: Any, rows: Sequence[int]) -> Any:
    """The batch with these samples only, in this order; what has no place for each sample stays."""
    return _taken(batch, list(rows), _length(batch))


def refilled(good: Sequence[int], length: int) -> list[int]:
    """Rows for a batch of the same length: the place of each bad sample is taken by a good one, in turn."""
    known = set(good)
    bad = [row for row in range(length) if row not in known]
    instead = {row: good[number % len(good)] for number, row in enumerate(bad)}
    return [instead.get(row, row) for row in range(length)]


class FiniteBatches:
    """A loader's batches without the samples that are not finite.

    `limit` is a fraction (float) or a number (int) of samples, None for none. `index_key` names what holds
    the samples' numbers in a batch that is a dict. A batch with nothing left is passed over.
    """

    def __init__(
        self,
        loader: Iterable[Any],
        *,
        limit: float | None = 0.05,
        refill: bool = False,
        only_report: bool = False,
        allow: Collection[str] = (),
        index_key: str | None = None,
    ) -> None:
        _check_limit(limit)
        self.loader, self.limit, self.refill, self.only_report = loader, limit, refill, only_report
        self.allow, self.index_key = frozenset(allow), index_key
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._places: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        """The batches of one epoch, filtered."""
        for batch in self.loader:
            filtered = self.filter(batch)
            if filtered is not None:
                yield filtered

    def __len__(self) -> int:
        """The number of batches of the loader; batches with nothing left are among them."""
        sized: Any = self.loader
        return len(sized)

    def filter(self, batch: Any) -> Any:
        """One batch without its bad samples; None where nothing is left."""
        good = finite_rows(batch, allow=self.allow).tolist()
        rows = [row for row, is_good in enumerate(good) if is_good]
        self._count(batch, good, len(rows))
        if len(rows) == len(good) or self.only_report:
            return batch
        if not rows:
            return None
        return take_rows(batch, refilled(rows, len(good)) if self.refill else rows)

    def report(self) -> FilterReport:
        """What has been seen so far."""
        return FilterReport(**self._counts, places=tuple(self._places))

    def state_dict(self) -> dict[str, Any]:
        """The counts and places."""
        return {**self._counts, "places": list(self._places)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on counting from a state."""
        self._counts = {name: int(state[name]) for name in _COUNTS}
        self._places = list(state["places"])

    def _count(self, batch: Any, good: list[bool], left: int) -> None:
        bad = [row for row, is_good in enumerate(good) if not is_good]
        room = MOST_REMEMBERED - len(self._places)
        self._places += [self._place(batch, row) for row in bad[: max(0, room)]]
        _add(self._counts, len(good), left)
        if not self.only_report:
            _raise_beyond(self.limit, self.report())

    def _place(self, batch: Any, row: int) -> Any:
        if self.index_key is not None and isinstance(batch, Mapping) and self.index_key in batch:
            number = batch[self.index_key][row]
            return number.item() if isinstance(number, Tensor) else number
        return (self._counts["batches"], row)


class FiniteCollate:
    """A collate function that leaves out samples that are not finite.

    It may run in worker processes: `report()` adds up what all of them have seen, and going past the limit
    in one of them ends the epoch with the error. `limit` holds for each worker. With `refill` the batch
    keeps its length. A list of samples with no finite one is an error.
    """

    def __init__(
        self,
        collate: Callable[[list[Any]], Any] = default_collate,
        *,
        limit: float | None = 0.05,
        refill: bool = False,
        only_report: bool = False,
        allow: Collection[str] = (),
    ) -> None:
        _check_limit(limit)
        self.collate, self.limit, self.refill, self.only_report = collate, limit, refill, only_report
        self.allow = frozenset(allow)
        counts: Any = torch.zeros(MOST_WORKERS + 1, len(_COUNTS), dtype=torch.int64)
        self._counts: Tensor = counts.share_memory_()

    def __call__(self, samples: list[Any]) -> Any:
        """Collate the samples that are finite."""
        good = [row for row, sample in enumerate(samples) if _is_finite(sample, self.allow)]
        worker = get_worker_info()
        mine = self._counts[0 if worker is None else 1 + worker.id % MOST_WORKERS]
        counts = dict(zip(_COUNTS, mine.tolist(), strict=True))
        _add(counts, len(samples), len(good))
        mine.copy_(torch.tensor(list(counts.values())))
        if len(good) == len(samples) or self.only_report:
            return self.collate(samples)
        _raise_beyond(self.limit, FilterReport(**counts))
        if not good:
            raise TooManyBadSamples(f"none of the {len(samples)} samples of a batch is finite")
        rows = refilled(good, len(samples)) if self.refill else good
        return self.collate([samples[row] for row in rows])

    def report(self) -> FilterReport:
        """What all workers have seen so far; which samples they were, they cannot tell."""
        return FilterReport(*self._counts.sum(0).tolist())

    def state_dict(self) -> dict[str, Any]:
        """The counts of all workers together."""
        return {name: getattr(self.report(), name) for name in _COUNTS}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on counting from a state; the earlier counts are those of this process."""
        self._counts.zero_()
        self._counts[0] = torch.tensor([int(state[name]) for name in _COUNTS])


def _leaves(batch: Any, key: str) -> Iterator[tuple[Any, str]]:
    """Everything in a batch that is no container, with the innermost key above it."""
    if isinstance(batch, Mapping):
        for name, one in batch.items():
            yield from _leaves(one, str(name))
    elif isinstance(batch, list | tuple):
        for one in batch:
            yield from _leaves(one, key)
    else:
        yield batch, key


def _length(batch: Any) -> int:
    length = first_length(batch)
    if length is None:
        raise ValueError(f"a batch of type {type(batch).__name__} holds no tensor with a first dimension")
    return length


def _has_rows(tensor: Tensor, length: int) -> bool:
    return tensor.ndim > 0 and len(tensor) == length


def _taken(batch: Any, rows: list[int], length: int) -> Any:
    if isinstance(batch, Tensor):
        if not _has_rows(batch, length):
            return batch
        return batch.index_select(0, torch.tensor(rows, device=batch.device))
    if isinstance(batch, Mapping):
        taken = {name: _taken(one, rows, length) for name, one in batch.items()}
        made: Any = type(batch)
        return made(taken)
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_taken(one, rows, length) for one in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(_taken_of_sequence(batch, rows, length))
    return batch


def _taken_of_sequence(batch: Sequence[Any], rows: list[int], length: int) -> list[Any]:
    """A list with one plain value for each sample, such as file names, is filtered; others are gone into."""
    is_column = len(batch) == length and not any(
        isinstance(one, Tensor | Mapping | list | tuple) for one in batch
    )
    return [batch[row] for row in rows] if is_column else [_taken(one, rows, length) for one in batch]


def _is_finite(sample: Any, allow: Collection[str]) -> bool:
    return all(
        bool(torch.as_tensor(one).isfinite().all())
        for one, key in _leaves(sample, "")
        if key not in allow and _is_numeric(one)
    )


def _is_numeric(one: Any) -> bool:
    """Whether a value can be NaN: a tensor, an array or a number of a floating-point kind."""
    if isinstance(one, Tensor):
        return one.is_floating_point() or one.is_complex()
    return isinstance(one, float | complex) or getattr(getattr(one, "dtype", None), "kind", "") in tuple("fc")


def _add(counts: dict[str, int], length: int, left: int) -> None:
    counts["batches"] += 1
    counts["samples"] += length
    counts["dropped"] += length - left
    counts["touched"] += left < length
    counts["emptied"] += left == 0


def _check_limit(limit: float | None) -> None:
    if limit is not None and (limit < 0 or (isinstance(limit, float) and limit > 1)):
        raise ValueError(f"limit is {limit}; give a fraction from 0.0 to 1.0, a number of samples, or None")


def _raise_beyond(limit: float | None, report: FilterReport) -> None:
    if limit is None:
        return
    if isinstance(limit, int):
        is_beyond = report.dropped > limit
    else:
        is_beyond = report.dropped >= FEWEST_FOR_FRACTION and report.dropped > limit * report.samples
    if is_beyond:
        allowed = f"{limit}" if isinstance(limit, int) else f"{limit:.1%}"
        raise TooManyBadSamples(f"{report}; the limit is {allowed}. Mend the data, or raise `limit`.")
