"""The order of samples, across epochs, ranks and restarts."""

from __future__ import annotations

import io

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from stethoscope.blocks.resumable_sampler import ResumableSampler, epoch_order, rank_order
from tests.blocks.docstring_example import run_example

DATA = TensorDataset(torch.arange(23))


def _run(sampler: ResumableSampler, batches: int, workers: int = 0) -> list[list[int]]:
    """What training sees in the next batches, over as many epochs as they take."""
    loader = DataLoader(DATA, batch_size=4, sampler=sampler, num_workers=workers)
    seen: list[list[int]] = []
    while True:
        for (batch,) in sampler.counted(loader):
            seen.append(batch.tolist())
            if len(seen) == batches:
                return seen


def test_every_epoch_holds_every_sample_once_in_an_order_of_its_own() -> None:
    orders = [epoch_order(50, seed=3, epoch=epoch) for epoch in range(4)]
    assert all(sorted(order) == list(range(50)) for order in orders)
    assert len({tuple(order) for order in orders}) == 4
    assert epoch_order(50, seed=3, epoch=2) == orders[2]
    assert epoch_order(4, seed=3, epoch=2, shuffle=False) == [0, 1, 2, 3]


def test_neighbouring_seeds_do_not_share_their_orders() -> None:
    assert epoch_order(50, seed=0, epoch=1) != epoch_order(50, seed=1, epoch=0)


def test_the_order_does_not_touch_the_global_random_numbers() -> None:
    before = torch.get_rng_state()
    list(ResumableSampler(10))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("stop", [1, 3, 6, 7, 13])
def test_a_resumed_run_sees_what_the_one_that_was_not_stopped_sees(stop: int) -> None:
    whole = _run(ResumableSampler(DATA, seed=1), 20)
    first = ResumableSampler(DATA, seed=1)
    seen = _run(first, stop)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    resumed = ResumableSampler(DATA, seed=1)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    assert seen + _run(resumed, 20 - stop) == whole
    assert resumed.state_dict() == {
        "epoch": 3,
        "position": 8,
        "size": 23,
        "seed": 1,
        "shuffle": True,
        "ranks": 1,
    }


def test_what_workers_have_fetched_ahead_does_not_count() -> None:
    sampler = ResumableSampler(DATA, seed=1)
    _run(sampler, 2, workers=1)
    assert sampler.position == 8
    assert len(sampler) == 15


def test_samples_are_counted_as_told_where_the_first_dimension_is_another() -> None:
    sampler = ResumableSampler(8)
    next(sampler.counted([torch.zeros(5, 3)], samples=lambda batch: batch.shape[1]))
    assert sampler.position == 3


def test_resuming_inside_an_epoch_draws_no_random_number() -> None:
    sampler = ResumableSampler(DATA)
    _run(sampler, 2)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    _run(sampler, 1)
    assert torch.equal(torch.get_rng_state(), before)


def test_workers_get_other_seeds_in_every_epoch() -> None:
    torch.manual_seed(0)
    sampler = ResumableSampler(DATA)
    before = torch.get_rng_state()
    _run(sampler, 1)
    assert not torch.equal(torch.get_rng_state(), before)


def test_ranks_share_an_order_without_holes() -> None:
    order = epoch_order(10, seed=0, epoch=0)
    parts = [rank_order(order, rank=rank, ranks=4) for rank in range(4)]
    assert [len(part) for part in parts] == [3, 3, 3, 3]
    assert {one for part in parts for one in part} == set(range(10))
    assert [one for row in zip(*parts, strict=True) for one in row] == order + order[:2]
    sampler = ResumableSampler(10, rank=1, ranks=4)
    assert list(sampler) == parts[1]
    assert len(sampler) == 3


def test_another_order_is_refused_in_words() -> None:
    state = ResumableSampler(10, seed=1).state_dict()
    with pytest.raises(
        ValueError, match=r"saved with \{'size': 10, 'seed': 1\} and is \{'size': 9, 'seed': 2\}"
    ):
        ResumableSampler(9, seed=2).load_state_dict(state)
    with pytest.raises(ValueError, match="the data set is empty"):
        ResumableSampler(0)
    with pytest.raises(ValueError, match="rank is 2 of 2"):
        ResumableSampler(5, rank=2, ranks=2)


def test_the_example_runs() -> None:
    assert len(run_example("resumable_sampler").splitlines()) == 6
