"""Accumulated gradients, held to those of the one big batch."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from stethoscope.blocks.accumulation import MicroBatch, accumulated, optimizer_steps, samples_in, shares
from tests.blocks.docstring_example import run_example
from tests.guard.launching import launched

Pair = tuple[Tensor, Tensor]


def _net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 2)).double()


def _data(number: int) -> Pair:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(number, 5, dtype=torch.float64, generator=generator)
    return inputs, torch.randn(number, 2, dtype=torch.float64, generator=generator)


def _gradients(model: nn.Module) -> list[Tensor]:
    return [one.grad for one in model.parameters() if one.grad is not None]


def _big(inputs: Tensor, targets: Tensor) -> list[Tensor]:
    model = _net()
    mse_loss(model(inputs), targets).backward()
    return _gradients(model)


@pytest.mark.parametrize("sizes", [[4, 4, 4, 4], [1, 7, 3, 5], [16], [2] * 8, [15, 1]])
def test_a_group_gives_the_gradient_of_one_big_batch(sizes: list[int]) -> None:
    inputs, targets = _data(16)
    micro_batches = list(zip(inputs.split(sizes), targets.split(sizes), strict=True))
    model = _net()
    for micro in accumulated(micro_batches, every=len(sizes)):
        x, y = micro.batch
        (mse_loss(model(x), y) * micro.share).backward()
    for ours, theirs in zip(_gradients(model), _big(inputs, targets), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-15)


def test_with_numbers_that_need_no_rounding_it_is_the_same_bit_by_bit() -> None:
    inputs = torch.arange(32, dtype=torch.float64).reshape(16, 2) / 8
    targets = torch.arange(16, dtype=torch.float64).reshape(16, 1)

    def gradient(sizes: list[int]) -> Tensor:
        weight = torch.ones(2, 1, dtype=torch.float64, requires_grad=True)
        pairs = list(zip(inputs.split(sizes), targets.split(sizes), strict=True))
        for micro in accumulated(pairs, every=len(sizes)):
            x, y = micro.batch
            (mse_loss(x @ weight, y) * micro.share).backward()
        assert weight.grad is not None
        return weight.grad

    whole = gradient([16])
    assert torch.equal(gradient([4, 4, 4, 4]), whole)
    assert torch.equal(gradient([8, 4, 2, 2]), whole)


def test_the_last_shorter_group_is_the_gradient_of_its_own_samples() -> None:
    inputs, targets = _data(22)
    loader = list(zip(inputs.split(4), targets.split(4), strict=True))  # 4 4 4 | 4 4 2
    model, found = _net(), []
    for micro in accumulated(loader, every=3):
        x, y = micro.batch
        (mse_loss(model(x), y) * micro.share).backward()
        if micro.is_last:
            found.append([one.clone() for one in _gradients(model)])
            model.zero_grad()
    assert len(found) == 2 == optimizer_steps(len(loader), every=3)
    for ours, (start, end) in zip(found, [(0, 12), (12, 22)], strict=True):
        for one, other in zip(ours, _big(inputs[start:end], targets[start:end]), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-15)


def test_tokens_are_weighed_and_not_micro_batches() -> None:
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(4, 6, 5, dtype=torch.float64, generator=generator)
    labels = torch.randint(0, 2, (4, 6), generator=generator)
    labels[0, 1:] = labels[1, 4:] = labels[3] = -100  # 1, 4, 6 and 0 tokens

    def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        total = cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum")
        return total / (y != -100).sum().clamp(min=1)

    model, big = _net(), _net()
    loss(big, inputs, labels).backward()
    pairs = [(inputs[row : row + 1], labels[row : row + 1]) for row in range(4)]
    for micro in accumulated(pairs, every=4, weigh=lambda pair: (pair[1] != -100).sum()):
        (loss(model, *micro.batch) * micro.share).backward()
    for ours, theirs in zip(_gradients(model), _gradients(big), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-15)


def test_shares_add_up_to_one_and_a_group_without_tokens_has_none() -> None:
    assert shares([3, 1]) == [0.75, 0.25]
    assert [float(one) for one in shares([torch.tensor(3), 1])] == [0.75, 0.25]
    assert [float(one) for one in shares([torch.tensor(0), torch.tensor(0)])] == [0.0, 0.0]
    with pytest.raises(ValueError, match="together that is nothing"):
        shares([0, 0])


def test_it_works_with_a_scaler_that_unscales_and_clips() -> None:
    inputs, targets = _data(16)
    plain = _net().float()
    ours = _net().float()
    inputs, targets = inputs.float(), targets.float()

    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
    mse_loss(plain(inputs), targets).backward()
    nn.utils.clip_grad_norm_(plain.parameters(), 0.5)
    optimizer.step()

    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(ours.parameters(), lr=0.1)
    pairs = list(zip(inputs.split([6, 10]), targets.split([6, 10]), strict=True))
    for micro in accumulated(pairs, every=4):
        x, y = micro.batch
        scaler.scale(mse_loss(ours(x), y) * micro.share).backward()
        if micro.is_last:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(ours.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()
    for one, other in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_numbers_and_ends_of_groups() -> None:
    seen = [
        (micro.number, micro.group_size, micro.is_last) for micro in accumulated(torch.ones(5, 2, 1), every=3)
    ]
    assert seen == [(0, 3, False), (1, 3, False), (2, 3, True), (0, 2, False), (1, 2, True)]
    assert [optimizer_steps(number, 3) for number in (0, 1, 3, 4)] == [0, 1, 1, 2]
    assert list(accumulated([], every=2)) == []


def test_a_used_micro_batch_is_let_go() -> None:
    def loader() -> Iterator[Tensor]:
        for _ in range(2):
            yield torch.ones(2)

    batches = accumulated(loader(), every=2)
    first: MicroBatch[Tensor] | None = next(batches)
    assert first is not None
    held = weakref.ref(first.batch)
    first = None
    next(batches)
    assert held() is None


def test_samples_are_counted_in_nested_batches() -> None:
    assert samples_in({"meta": ["a", "b"], "x": (torch.tensor(1.0), torch.ones(7, 2))}) == 7
    with pytest.raises(ValueError, match=r"type list holds no tensor to count samples by"):
        samples_in(["a"])
    with pytest.raises(ValueError, match="every is 0"):
        next(accumulated([], every=0))


@pytest.mark.parametrize("weigh", [lambda batch: 1, lambda batch: torch.tensor(1)])
def test_a_model_without_no_sync_needs_none(weigh: Callable[[Tensor], int | Tensor]) -> None:
    for micro in accumulated([torch.ones(1, 5)] * 2, every=2, weigh=weigh):
        with micro.syncing(nn.Linear(5, 1)):
            assert float(micro.share) == 0.5


RANKS = """
import json
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.functional import mse_loss
from stethoscope.blocks import EMA, accumulated
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.Linear(3, 1).double()
inputs = torch.randn(12, 3, dtype=torch.float64)
targets = torch.randn(12, 1, dtype=torch.float64)
ddp = torch.nn.parallel.DistributedDataParallel(model)
sizes = [[1, 4, 2], [3, 1, 1]]  # of 12 samples
mine = [slice(0, 7), slice(7, 12)][rank]
pairs = list(zip(inputs[mine].split(sizes[rank]), targets[mine].split(sizes[rank])))
exchanged = 0
def count(state, bucket):
    global exchanged
    exchanged += 1
    return allreduce_hook(None, bucket)
ddp.register_comm_hook(None, count)
for micro in accumulated(pairs, every=3, across_ranks=True):
    x, y = micro.batch
    with micro.syncing(ddp):
        (mse_loss(ddp(x), y) * micro.share).backward()
ours = [p.grad.clone() for p in model.parameters()]
model.zero_grad()
mse_loss(model(inputs), targets).backward()
error = max((a - p.grad).abs().max().item() for a, p in zip(ours, model.parameters()))
print(json.dumps({"error": error, "exchanged": exchanged, "names": list(EMA(ddp).state_dict()["shadow"])}))
dist.destroy_process_group()
"""


def test_ranks_with_unequal_shares_have_the_gradient_of_the_batch_over_all_of_them() -> None:
    for rank in launched(RANKS):
        assert rank.get("exchanged") == 1, rank
        assert rank["error"] < 1e-14
        assert rank["names"] == ["weight", "bias"]  # also the average sees the model inside DDP


def test_the_example_runs() -> None:
    assert run_example("accumulation") == "3 3\n"
