"""A training that goes back goes on exactly as it would have, whatever it is made of."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from stethoscope.guard.rewind.host_copies import HostCopies, bytes_needed
from stethoscope.guard.rewind.snapshots import Parts, Snapshots

ROOMY = 1 << 30


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Threads that wait for each other on a busy machine take longer than these small nets."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


OPTIMIZERS: dict[str, Callable[[Any], Optimizer]] = {
    "adam, plain": lambda ps: torch.optim.Adam(ps, 1e-2, foreach=False),
    "adam, foreach": lambda ps: torch.optim.Adam(ps, 1e-2, foreach=True),
    "adam, fused": lambda ps: torch.optim.Adam(ps, 1e-2, fused=True),
    "adam, tensor rate": lambda ps: torch.optim.Adam(ps, torch.tensor(1e-2), foreach=False),
    "adamw, amsgrad": lambda ps: torch.optim.AdamW(ps, 1e-2, amsgrad=True),
    "sgd": lambda ps: torch.optim.SGD(ps, 1e-2),
    "sgd, momentum": lambda ps: torch.optim.SGD(ps, 1e-2, momentum=0.9, nesterov=True),
    "rmsprop": lambda ps: torch.optim.RMSprop(ps, 1e-2, momentum=0.5, centered=True),
    "nadam": lambda ps: torch.optim.NAdam(ps, 1e-2),
    "adagrad": lambda ps: torch.optim.Adagrad(ps, 1e-2),
}


class Net(nn.Module):
    """Batch statistics, dropout, a buffer outside checkpoints, a mask, and state that is no tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.3)
        self.last = nn.Linear(8, 2)
        self.register_buffer("calls", torch.zeros((), dtype=torch.long), persistent=False)
        self.register_buffer("mask", torch.full((3, 3), -math.inf).triu(1))
        self.heard: list[int] = []

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.heard.append(int(self.calls))
        hidden: Tensor = self.last(self.drop(self.norm(self.first(x)).relu()))
        return hidden

    def get_extra_state(self) -> Any:
        return {"heard": self.heard}

    def set_extra_state(self, state: Any) -> None:
        self.heard = state["heard"]


class Position:
    """Where a loader stands."""

    def __init__(self) -> None:
        self.at = 0

    def state_dict(self) -> dict[str, int]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at = state["at"]


class PlainAverage:
    """An average of weights that is no module."""

    def __init__(self, model: nn.Module) -> None:
        self.shadow = [one.detach().clone() for one in model.parameters()]

    def update(self, model: nn.Module) -> None:
        for mean, one in zip(self.shadow, model.parameters(), strict=True):
            mean.lerp_(one.detach(), 0.1)

    def state_dict(self) -> dict[str, Any]:
        return {"shadow": self.shadow}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.shadow = state["shadow"]


@dataclass
class Training:
    """A small training with everything in it that can be put back."""

    make: Callable[[Any], Optimizer]
    losses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        torch.manual_seed(0)
        random.seed(0)
        numpy.random.seed(0)
        self.model = Net()
        self.balance = nn.Parameter(torch.ones(()))  # in the optimizer, and in no model
        self.optimizer = self.make([*self.model.parameters(), self.balance])
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 50)
        self.scaler = torch.amp.GradScaler("cpu", growth_interval=3)
        self.average = AveragedModel(self.model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
        self.plain = PlainAverage(self.model)
        self.position = Position()
        self.generator = torch.Generator().manual_seed(5)
        self.parts = Parts.of(
            self.model,
            self.optimizer,
            scaler=self.scaler,
            schedule=self.schedule,
            ema=[self.average, self.plain],
            others=self.position,
            generators=self.generator,
        )

    def run(self, steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            x = torch.randn(16, 4, generator=self.generator) + random.random() + numpy.random.rand()
            loss = self.model(x + self.position.at).square().mean() * self.balance.exp()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
            self.schedule.step()
            self.average.update_parameters(self.model)
            self.plain.update(self.model)
            self.position.at += 1
            losses.append(loss.item())
        return losses

    def everything(self) -> dict[str, Any]:
        return copy.deepcopy(
            {
                "model": dict(self.model.named_parameters()) | dict(self.model.named_buffers()),
                "heard": self.model.heard,
                "balance": self.balance,
                "optimizer": self.optimizer.state_dict(),
                "schedule": self.schedule.state_dict(),
                "scaler": self.scaler.state_dict(),
                "average": self.average.state_dict(),
                "plain": self.plain.shadow,
                "position": self.position.at,
            }
        )


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_run_that_went_back_is_bit_identical_to_one_that_never_left(name: str) -> None:
    never_left = Training(OPTIMIZERS[name])
    never_left.run(5)
    expected = never_left.run(6)

    training = Training(OPTIMIZERS[name])
    training.run(5)
    snapshots = Snapshots(training.parts, ROOMY)
    assert snapshots.take(5)
    training.run(7)
    snapshot = snapshots.at(5)
    assert snapshot is not None
    for _ in range(2):  # the same snapshot serves again
        assert snapshots.restore(snapshot) == ()
        assert training.run(6) == expected
        assert same(training.everything(), never_left.everything())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_going_back_to_before_the_first_step_forgets_what_the_optimizer_made(name: str) -> None:
    expected = Training(OPTIMIZERS[name]).run(4)
    training = Training(OPTIMIZERS[name])
    snapshots = Snapshots(training.parts, ROOMY)
    snapshots.take(0)
    training.run(3)
    snapshots.restore(snapshots.at(0))
    assert training.run(4) == expected


def test_tensors_stay_the_same_objects() -> None:
    training = Training(OPTIMIZERS["adam, fused"])
    training.run(2)
    snapshots = Snapshots(training.parts, ROOMY)
    snapshots.take(2)

    def objects() -> list[int]:
        state = training.optimizer.state
        moments = [id(one) for values in state.values() for one in values.values()]
        places = [one.data_ptr() for one in training.model.parameters()]
        return [*moments, *places, *map(id, training.model.buffers()), id(training.scaler._scale)]

    before = objects()
    training.run(2)
    snapshots.restore(snapshots.at(2))
    assert objects() == before


def test_a_snapshot_that_is_not_finite_is_never_good() -> None:
    model = nn.Linear(2, 2)
    snapshots = Snapshots(Parts.of(model, torch.optim.SGD(model.parameters(), 0.1)), ROOMY)
    snapshots.take(0)
    with torch.no_grad():
        model.weight[0, 0] = math.nan
    snapshots.take(200)
    assert snapshots.good_steps() == (0,)


def test_moments_and_averages_are_judged_too() -> None:
    training = Training(OPTIMIZERS["adam, plain"])
    training.run(2)
    snapshots = Snapshots(training.parts, ROOMY)
    training.optimizer.state[training.model.last.bias]["exp_avg_sq"][0] = math.inf
    snapshots.take(2)
    training.optimizer.state[training.model.last.bias]["exp_avg_sq"][0] = 1.0
    training.plain.shadow[0][0] = math.nan
    snapshots.take(3)
    training.plain.shadow[0][0] = 1.0
    snapshots.take(4)
    assert snapshots.good_steps() == (4,)


def test_bad_snapshots_do_not_push_out_the_last_good_one() -> None:
    model = nn.Linear(2, 2)
    snapshots = Snapshots(Parts.of(model, torch.optim.SGD(model.parameters(), 0.1)), ROOMY, keep=3)
    snapshots.take(0)
    snapshots.take(200)
    with torch.no_grad():
        model.bias[0] = math.nan
    for step in range(400, 4000, 200):
        snapshots.take(step)
    assert snapshots.good_steps() == (0, 200)
    assert len(snapshots.steps) == 3


def test_the_oldest_makes_room_and_memory_is_used_again() -> None:
    model = nn.Linear(2, 2)
    snapshots = Snapshots(Parts.of(model, torch.optim.SGD(model.parameters(), 0.1)), ROOMY, keep=2)
    snapshots.take(0)
    first = snapshots.at(0)
    snapshots.take(200)
    snapshots.take(400)
    assert snapshots.steps == (200, 400)
    assert first is not None
    assert snapshots.at(400).copies is first.copies
    with pytest.raises(ValueError, match="step 0 is gone"):
        snapshots.restore(first)


def test_going_back_forgets_what_came_later() -> None:
    model = nn.Linear(2, 2)
    snapshots = Snapshots(Parts.of(model, torch.optim.SGD(model.parameters(), 0.1)), ROOMY)
    for step in (0, 200, 400):
        snapshots.take(step)
    snapshots.restore(snapshots.at(200))
    assert snapshots.steps == (0, 200)


def test_too_large_says_so_before_anything_is_copied() -> None:
    model = nn.Linear(1000, 1000)
    optimizer = torch.optim.Adam(model.parameters())
    snapshots = Snapshots(Parts.of(model, optimizer), most_bytes=20_000_000)
    assert snapshots.bytes_each == pytest.approx(3 * 4 * 1_001_000, rel=1e-3)
    assert snapshots.too_large == (
        "One snapshot of this training takes 0.012 GB of host memory, and 2 are needed; "
        "0.02 GB are allowed (snapshot_bytes)."
    )
    assert not snapshots.take(0)
    assert Snapshots(Parts.of(model, optimizer), most_bytes=25_000_000).too_large is None


def test_what_an_optimizer_holds_beyond_expectation_is_noticed_when_it_is_there() -> None:
    model = nn.Linear(1000, 10)
    optimizer = torch.optim.Adagrad(model.parameters())
    optimizer.state.clear()
    snapshots = Snapshots(Parts.of(model, optimizer), most_bytes=100_000)
    assert snapshots.too_large is None
    assert snapshots.take(0)
    for one in model.parameters():
        optimizer.state[one] = {"step": torch.zeros(()), "sum": torch.zeros_like(one)}
    assert not snapshots.take(200)
    assert snapshots.too_large is not None
    assert snapshots.steps == ()


def test_parameters_that_came_later_are_named_and_left_alone() -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    snapshots = Snapshots(Parts.of(model, optimizer), ROOMY)
    snapshots.take(0)
    model.append(nn.Linear(2, 2))
    optimizer.add_param_group({"params": list(model[1].parameters())})
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    later = model[1].weight.detach().clone()
    assert snapshots.restore(snapshots.at(0)) == ("1.weight", "1.bias")
    assert torch.equal(model[1].weight, later)
    assert not optimizer.state
    assert snapshots.take(200)


class Exotic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 2).t())
        self.image = nn.Parameter(torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last))
        self.brief = nn.Parameter(torch.randn(4).bfloat16())
        self.wave = nn.Parameter(torch.randn(3, dtype=torch.complex64))
        self.nothing = nn.Parameter(torch.empty(0, 5))
        self.absent = nn.Parameter(torch.empty(2, device="meta"))
        self.lazy = nn.LazyLinear(3)
        self.register_buffer("eight", torch.randn(4).to(torch.float8_e4m3fn))
        self.register_buffer("seen", torch.tensor([True, False]))
        self.register_buffer("count", torch.tensor(7))
        self.register_buffer("spread", torch.ones(1).expand(1000))
        self.register_buffer("sparse", torch.eye(3).to_sparse())
        self.register_buffer("missing", None)


def test_tensors_of_every_kind_are_put_back() -> None:
    model = Exotic()
    held = [one for one in model.parameters() if not nn.parameter.is_lazy(one) and not one.is_meta]
    snapshots = Snapshots(Parts.of(model, torch.optim.SGD(held, 0.1)), ROOMY)
    before = {name: one.clone() for name, one in named(model)}
    assert snapshots.take(0)
    for _, one in named(model):
        with torch.no_grad():
            if one.layout is torch.strided and one.numel() < 1000:
                one.view(-1)[:1].zero_() if one.is_contiguous() else one.zero_()
    model.spread[0] = 9.0
    model.sparse.zero_()
    assert snapshots.restore(snapshots.at(0)) == ()
    assert all(equal(one, before[name]) for name, one in named(model))
    assert snapshots.good_steps() == (0,)


def test_a_shared_weight_is_put_back_once_and_for_both() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    snapshots = Snapshots(Parts.of(model, torch.optim.SGD(model.parameters(), 0.1)), ROOMY)
    snapshots.take(0)
    before = model[0].weight.detach().clone()
    with torch.no_grad():
        model[0].weight.zero_()
    snapshots.restore(snapshots.at(0))
    assert model[1].weight is model[0].weight
    assert torch.equal(model[0].weight, before)


def test_without_a_model_the_optimizers_parameters_are_kept() -> None:
    weight = nn.Parameter(torch.ones(3))
    snapshots = Snapshots(Parts.of(None, torch.optim.SGD([weight], 0.1)), ROOMY)
    snapshots.take(0)
    with torch.no_grad():
        weight.zero_()
    snapshots.restore(snapshots.at(0))
    assert torch.equal(weight.detach(), torch.ones(3))


def test_lbfgs_with_its_lists_of_tensors_is_put_back() -> None:
    def descend(optimizer: Optimizer, weight: Tensor, steps: int) -> list[float]:
        def closure() -> float:
            optimizer.zero_grad()
            loss = ((weight - torch.tensor([3.0, 1.0])) ** 4).sum()
            loss.backward()
            return loss.item()

        return [float(optimizer.step(closure)) for _ in range(steps)]

    weight = nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.LBFGS([weight], lr=0.5, max_iter=2)
    snapshots = Snapshots(Parts.of(None, optimizer), ROOMY)
    descend(optimizer, weight, 3)
    snapshots.take(3)
    expected = descend(optimizer, weight, 4)
    snapshots.restore(snapshots.at(3))
    assert descend(optimizer, weight, 4) == expected


@pytest.mark.parametrize("kind", ["sequential", "one cycle", "plateau", "lambda"])
def test_schedules_of_every_kind_go_on_as_they_would_have(kind: str) -> None:
    lr = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], 0.1, momentum=0.9)
    make: dict[str, Callable[[], Any]] = {
        "sequential": lambda: lr.SequentialLR(
            optimizer, [lr.LinearLR(optimizer, 0.1, 1.0, 3), lr.ExponentialLR(optimizer, 0.5)], [3]
        ),
        "one cycle": lambda: lr.OneCycleLR(optimizer, 0.5, total_steps=40),
        "plateau": lambda: lr.ReduceLROnPlateau(optimizer, patience=1),
        "lambda": lambda: lr.LambdaLR(optimizer, lambda step: 1 / (1 + step)),
    }
    schedule = make[kind]()

    def rates(steps: int) -> list[tuple[float, float]]:
        seen = []
        for _ in range(steps):
            optimizer.step()
            schedule.step(1.0) if kind == "plateau" else schedule.step()
            group = optimizer.param_groups[0]
            seen.append((float(group["lr"]), group["momentum"]))
        return seen

    snapshots = Snapshots(Parts.of(None, optimizer, schedule=schedule), ROOMY)
    rates(2)
    snapshots.take(2)
    expected = rates(9)
    snapshots.restore(snapshots.at(2))
    assert rates(9) == expected


def test_a_scaler_of_another_kind_is_put_back_by_its_own_state() -> None:
    class Halving:
        scale = 8.0

        def state_dict(self) -> dict[str, float]:
            return {"scale": self.scale}

        def load_state_dict(self, state: dict[str, float]) -> None:
            self.scale = state["scale"]

    scaler = Halving()
    snapshots = Snapshots(Parts.of(nn.Linear(1, 1), [], scaler=scaler), ROOMY)
    snapshots.take(0)
    scaler.scale = 1.0
    snapshots.restore(snapshots.at(0))
    assert scaler.scale == 8.0


def test_what_has_no_state_is_refused_with_its_name() -> None:
    with pytest.raises(TypeError, match=r"ema=object\(...\) cannot be put back"):
        Parts.of(nn.Linear(1, 1), [], ema=object())


def test_memory_is_counted_as_it_is_taken() -> None:
    tensors = [torch.zeros(10), torch.zeros(3, dtype=torch.bool), torch.ones(1).expand(10**9)]
    assert bytes_needed(tensors) == 3 * 64
    assert [view.shape for view in HostCopies(tensors).views] == [(10,), (3,), (1,)]


def named(model: nn.Module) -> list[tuple[str, Tensor]]:
    both = [*model.named_parameters(), *model.named_buffers()]
    return [(name, one.detach()) for name, one in both if not nn.parameter.is_lazy(one) and not one.is_meta]


def equal(one: Tensor, other: Tensor) -> bool:
    if one.layout is not torch.strided:
        one, other = one.to_dense(), other.to_dense()
    if one.dtype is torch.float8_e4m3fn:
        one, other = one.float(), other.float()
    return torch.equal(one, other)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
