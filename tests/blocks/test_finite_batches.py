"""Samples that are not finite: dropped one by one, counted, and told."""

from __future__ import annotations

import io
import math
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader, Dataset

from stethoscope.blocks.finite_batches import (
    MOST_REMEMBERED,
    FilterReport,
    FiniteBatches,
    FiniteCollate,
    TooManyBadSamples,
    finite_rows,
    refilled,
    take_rows,
)
from tests.blocks.docstring_example import run_example

Pair = namedtuple("Pair", "x y")


class Numbers(Dataset[dict[str, Any]]):
    """Samples of which those in `bad` hold a NaN."""

    def __init__(self, number: int, bad: tuple[int, ...] = ()) -> None:
        self.number, self.bad = number, bad

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, index: int) -> dict[str, Any]:
        value = math.nan if index in self.bad else float(index)
        return {"x": torch.tensor([1.0, value]), "index": index, "name": f"{index}.png"}


@given(
    values=st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), min_size=1, max_size=8),
    targets=st.lists(st.floats(width=32), min_size=8, max_size=8),
)
@settings(max_examples=60)
def test_the_rows_are_those_that_numpy_finds_finite(values: list[list[float]], targets: list[float]) -> None:
    x, y = np.array(values, np.float32), np.array(targets[: len(values)], np.float32)
    expected = np.isfinite(x).all(1) & np.isfinite(y)
    found = finite_rows({"in": [torch.from_numpy(x)], "out": torch.from_numpy(y)})
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.complex64]
)
def test_every_kind_of_number_is_looked_at(dtype: torch.dtype, bad: float) -> None:
    x = torch.ones(4, 2, 2, dtype=dtype)
    x[2, 1, 0] = bad
    assert finite_rows((torch.arange(4), x)).tolist() == [True, True, False, True]


def test_nested_batches_keep_their_form_and_lose_the_sample_everywhere() -> None:
    batch = {
        "pair": Pair(torch.tensor([[1.0], [math.nan], [3.0]]), torch.tensor([7, 8, 9])),
        "names": ["a", "b", "c"],
        "views": [torch.ones(3, 2), torch.ones(3, 2, 2)],
        "scale": torch.tensor(4.0),
        "note": "whole batch",
    }
    (left,) = FiniteBatches([batch], limit=None)
    assert type(left["pair"]) is Pair
    assert left["pair"].x.tolist() == [[1.0], [3.0]]
    assert left["pair"].y.tolist() == [7, 9]
    assert left["names"] == ["a", "c"]
    assert [tuple(view.shape) for view in left["views"]] == [(2, 2), (2, 2, 2)]
    assert left["scale"].item() == 4.0
    assert left["note"] == "whole batch"


def test_a_finite_batch_is_handed_on_as_it_is() -> None:
    batch = [torch.ones(3, 2)]
    (same,) = FiniteBatches([batch])
    assert same is batch


def test_a_bad_number_that_belongs_to_no_sample_belongs_to_all() -> None:
    assert finite_rows([torch.ones(3, 1), torch.tensor(math.nan)]).tolist() == [False] * 3


def test_keys_that_may_hold_infinities_are_left_alone() -> None:
    batch = {"x": torch.ones(2, 1), "mask": torch.full((2, 1), -math.inf)}
    assert finite_rows(batch, allow={"mask"}).tolist() == [True, True]
    assert finite_rows(batch).tolist() == [False, False]


def test_counts_and_places_are_those_of_the_bad_samples() -> None:
    loader = DataLoader(Numbers(20, bad=(5, 6, 8, 9, 10, 11)), batch_size=4)
    batches = FiniteBatches(loader, limit=None)
    assert [len(batch["x"]) for batch in batches] == [4, 2, 4, 4]
    places = ((1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (2, 3))
    assert batches.report() == FilterReport(5, 20, 6, 2, 1, places)
    assert str(batches.report()).startswith(
        "6 of 20 samples are not finite, in 2 of 5 batches (1 with nothing"
    )
    named = FiniteBatches(loader, limit=None, index_key="index")
    assert [name for batch in named for name in batch["name"]][4:6] == ["4.png", "7.png"]
    assert named.report().places == (5, 6, 8, 9, 10, 11)
    assert len(named) == 5


def test_places_are_remembered_up_to_a_number_and_counted_beyond_it() -> None:
    batches = FiniteBatches([torch.full((MOST_REMEMBERED + 5, 1), math.nan)], limit=None)
    assert list(batches) == []
    assert (batches.report().dropped, len(batches.report().places)) == (MOST_REMEMBERED + 5, MOST_REMEMBERED)


def test_refilling_keeps_the_shape_with_samples_of_the_same_batch() -> None:
    assert refilled([1, 3], 5) == [1, 1, 3, 3, 1]
    batch = torch.tensor([[0.0], [math.nan], [2.0], [math.inf]])
    (full,) = FiniteBatches([batch], refill=True, limit=None)
    assert full.flatten().tolist() == [0.0, 0.0, 2.0, 2.0]


def test_only_reporting_changes_nothing_and_never_raises() -> None:
    batch = torch.full((50, 1), math.nan)
    batches = FiniteBatches([batch], only_report=True, limit=0.0)
    assert next(iter(batches)) is batch
    assert batches.report().dropped == 50


def test_a_fraction_is_a_limit_once_it_means_something() -> None:
    loader = DataLoader(Numbers(400, bad=tuple(range(0, 400, 10))), batch_size=20)
    with pytest.raises(TooManyBadSamples, match=r"10 of 100 samples .* the limit is 5.0%"):
        list(FiniteBatches(loader, limit=0.05))
    assert len(list(FiniteBatches(loader, limit=0.1))) == 20


def test_a_number_is_a_limit_too() -> None:
    loader = DataLoader(Numbers(8, bad=(1, 2, 3)), batch_size=4)
    assert len(list(FiniteBatches(loader, limit=3))) == 2
    with pytest.raises(TooManyBadSamples, match="the limit is 2"):
        list(FiniteBatches(loader, limit=2))
    with pytest.raises(ValueError, match=r"limit is 1\.5"):
        FiniteBatches(loader, limit=1.5)


def test_statistics_of_batch_norm_stay_those_of_the_finite_samples() -> None:
    x = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    poisoned = x.clone()
    poisoned[4, 1] = math.nan
    kept = x[[0, 1, 2, 3, 5, 6, 7]]
    for batches, expected in [([poisoned], False), (FiniteBatches([poisoned], limit=None), True)]:
        norm = nn.BatchNorm1d(3, momentum=1.0)
        for batch in batches:
            norm(batch)
        assert norm.running_mean is not None
        assert bool(norm.running_mean.isfinite().all()) is expected
    np.testing.assert_allclose(norm.running_mean.numpy(), kept.numpy().mean(0), rtol=1e-5)


def test_a_state_goes_through_a_file_and_goes_on_counting() -> None:
    loader = DataLoader(Numbers(20, bad=(5, 13)), batch_size=4)
    whole, first = FiniteBatches(loader, limit=None), FiniteBatches(loader, limit=None)
    list(whole)
    list(first)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    resumed = FiniteBatches(loader, limit=None)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    list(whole)
    list(resumed)
    assert resumed.report() == whole.report()
    assert whole.report().dropped == 4


def _stacked(samples: list[Any]) -> torch.Tensor:
    return torch.stack([sample["x"] for sample in samples])


@pytest.mark.parametrize("workers", [0, 2])
def test_as_a_collate_function_it_counts_what_all_workers_see(workers: int) -> None:
    collate = FiniteCollate(_stacked, limit=None)
    loader = DataLoader(Numbers(24, bad=(5, 6, 17)), batch_size=4, num_workers=workers, collate_fn=collate)
    values = [row for batch in loader for row in batch[:, 1].tolist()]
    assert values == [float(index) for index in range(24) if index not in (5, 6, 17)]
    assert collate.report() == FilterReport(batches=6, samples=24, dropped=3, touched=2, emptied=0)
    other = FiniteCollate(_stacked)
    other.load_state_dict(collate.state_dict())
    assert other.report() == collate.report()


def test_samples_of_any_kind_are_collated() -> None:
    samples = [(np.array([1.0]), 1.0, 3), (np.array([np.nan]), 1.0, 4), (np.array([2.0]), math.inf, 5)]
    collated = FiniteCollate(limit=None)(samples)
    assert [column.tolist() for column in collated] == [[[1.0]], [1.0], [3]]
    again = FiniteCollate(limit=None, refill=True)(samples)
    assert again[2].tolist() == [3, 3, 3]
    only = FiniteCollate(only_report=True)(samples)
    assert len(only[0]) == 3


@pytest.mark.parametrize("limit", [0, None])
def test_a_worker_that_goes_past_the_limit_ends_the_epoch(limit: int | None) -> None:
    bad = tuple(range(4)) if limit is None else (1,)
    loader = DataLoader(
        Numbers(8, bad=bad), batch_size=4, num_workers=1, collate_fn=FiniteCollate(_stacked, limit=limit)
    )
    with pytest.raises(TooManyBadSamples, match=r"none of the 4 samples|the limit is 0"):
        list(loader)


def test_a_batch_without_tensors_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="type list holds no tensor with a first dimension"):
        finite_rows(["a", "b"])


def test_rows_are_taken_in_the_order_given() -> None:
    assert take_rows((torch.arange(4), ("a", "b", "c", "d")), [3, 0])[1] == ("d", "a")


def test_the_example_runs() -> None:
    assert run_example("finite_batches") == (
        "1 of 64 samples are not finite, in 1 of 4 batches (0 with nothing left): (0, 5)\n"
    )
