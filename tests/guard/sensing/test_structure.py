"""Whether the optimizer holds the model, and whether gradients are cleared."""

from __future__ import annotations

import copy
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.sensing.structure import ClearedGradients, left_out


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))


def sgd(model: nn.Module) -> torch.optim.SGD:
    return torch.optim.SGD(model.parameters(), 0.01)


def test_an_optimizer_that_holds_the_model_is_well() -> None:
    model = net()
    assert left_out(model, [sgd(model)]) is None
    assert left_out(torch.compile(model, backend="eager"), [sgd(model)]) is None
    assert left_out(model.double(), [sgd(model)]) is None


def test_a_model_made_again_after_the_optimizer_is_critical() -> None:
    model = net()
    optimizer = sgd(model)
    told = left_out(copy.deepcopy(model), [optimizer])
    assert told is not None
    assert (told.kind, told.severity) == (Kind.PARAMETERS_LEFT_OUT, Severity.CRITICAL)
    assert told.seen == (
        "None of the model's 4 trainable parameters is held by an optimizer, "
        "which holds 4 others of the same shapes."
    )
    assert "another copy of the model" in told.means


def test_some_parameters_left_out_are_named() -> None:
    model = nn.Sequential(*[nn.Linear(2, 2) for _ in range(5)])
    optimizer = torch.optim.SGD(model[0].parameters(), 0.1)
    told = left_out(model, [optimizer])
    assert told is not None
    assert told.severity is Severity.WARNING
    assert told.seen == (
        "8 of the model's 10 trainable parameters are held by no optimizer: "
        "1.weight, 1.bias, 2.weight, 2.bias, 3.weight and 3 more."
    )
    assert told.facts["values_left_out"] == 4 * 6


def test_frozen_parameters_may_be_left_out_until_they_are_unfrozen() -> None:
    model = net()
    model[0].requires_grad_(False)
    optimizer = torch.optim.SGD(model[2].parameters(), 0.1)
    assert left_out(model, [optimizer]) is None
    model[0].requires_grad_(True)
    told = left_out(model, [optimizer], step=500)
    assert told is not None
    assert told.step == 500
    assert told.facts["names"] == ["0.weight", "0.bias"]


def test_tied_parameters_count_once() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    assert left_out(model, [sgd(model)]) is None
    told = left_out(model, [torch.optim.SGD([model[0].bias], 0.1)])
    assert told is not None
    assert told.facts["left_out"] == 2


def test_several_models_and_optimizers_are_taken_together() -> None:
    one, other = net(), net()
    assert left_out([one, other], [sgd(one), sgd(other)]) is None
    assert left_out(one, [sgd(one), sgd(other)]) is None
    extra = nn.Parameter(torch.ones(1))  # the weight of a loss
    assert left_out(one, [torch.optim.SGD([*one.parameters(), extra], 0.1)]) is None


def test_copies_in_full_precision_are_how_some_tools_train() -> None:
    model = net().bfloat16()
    masters = [nn.Parameter(one.detach().float()) for one in model.parameters()]
    assert left_out(model, [torch.optim.SGD(masters, 0.1)]) is None


def test_nothing_to_train_is_nothing_to_tell() -> None:
    model = net().requires_grad_(False)
    assert left_out(model, [torch.optim.SGD([nn.Parameter(torch.ones(1))], 0.1)]) is None
    assert left_out(net(), []) is None


# --- clearing

Clear = Callable[[nn.Module, torch.optim.Optimizer], object]


def zero_by_data(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for one in model.parameters():
        if one.grad is not None:
            one.grad.data.zero_()


def none_by_hand(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for one in model.parameters():
        one.grad = None


def foreach_zero(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    grads = [one.grad for one in model.parameters() if one.grad is not None]
    if grads:
        torch._foreach_zero_(grads)


CLEARINGS: dict[str, Clear] = {
    "to none": lambda model, optimizer: optimizer.zero_grad(set_to_none=True),
    "to zero": lambda model, optimizer: optimizer.zero_grad(set_to_none=False),
    "by the model": lambda model, optimizer: model.zero_grad(),
    "by hand": none_by_hand,
    "foreach": foreach_zero,
    "by data": zero_by_data,
}


def watched(
    clear: Clear | None, *, steps: int = 30, batches: int = 1, first: bool = False, by_scaler: bool = False
) -> list[Happening]:
    """Train, clearing behind the step or before the first backward pass, and give what was told."""
    torch.manual_seed(0)
    model = net()
    optimizer = sgd(model)
    scaler = torch.amp.GradScaler("cpu", enabled=by_scaler, init_scale=4.0)
    watch = ClearedGradients(optimizer)
    optimizer.register_step_post_hook(lambda *_: watch.stepped())
    told = []
    for step in range(steps):
        if first and clear is not None:
            clear(model, optimizer)
        for _ in range(batches):
            scaler.scale(model(torch.randn(5, 3)).square().mean()).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        scaler.step(optimizer)
        scaler.update()
        told.append(watch.happening(step))
        if not first and clear is not None:
            clear(model, optimizer)
    assert watch.failure is None
    return [one for one in told if one is not None]


@pytest.mark.parametrize("by_scaler", [False, True])
@pytest.mark.parametrize("batches", [1, 4])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("name", CLEARINGS)
def test_every_way_of_clearing_is_known(name: str, first: bool, batches: int, by_scaler: bool) -> None:
    assert watched(CLEARINGS[name], batches=batches, first=first, by_scaler=by_scaler) == []


@pytest.mark.parametrize("batches", [1, 4])
def test_gradients_that_are_never_cleared_are_told_once(batches: int) -> None:
    (told,) = watched(None, batches=batches)
    assert told.kind is Kind.GRADIENTS_NOT_CLEARED
    assert told.step == 10
    assert told.onset == 1
    assert told.seen == "The gradients were not cleared before any of the last 9 steps."


def test_clearing_now_and_then_is_not_told() -> None:
    count = [0]

    def seldom(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        count[0] += 1
        if count[0] % 8 == 0:
            optimizer.zero_grad()

    assert watched(seldom, steps=60) == []


def test_two_players_that_reach_into_each_other_are_well() -> None:
    torch.manual_seed(0)
    maker, judge = nn.Linear(2, 3), nn.Linear(3, 1)
    optimizers = [sgd(maker), sgd(judge)]
    watches = [ClearedGradients(one) for one in optimizers]
    for optimizer, watch in zip(optimizers, watches, strict=True):
        optimizer.register_step_post_hook(lambda *_, watch=watch: watch.stepped())
    for step in range(40):
        optimizers[1].zero_grad()
        judge(maker(torch.randn(4, 2)).detach()).mean().backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        judge(maker(torch.randn(4, 2))).mean().backward()  # also reaches the judge
        optimizers[0].step()
        assert [watch.happening(step) for watch in watches] == [None, None]


def test_a_parameter_that_gets_no_gradient_in_some_steps_is_no_alarm() -> None:
    model = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 2)])
    optimizer = sgd(model)
    watch = ClearedGradients(optimizer)
    for step in range(60):
        used = model[step % 3 > 0]
        used(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        watch.stepped()
        assert watch.happening(step) is None
        optimizer.zero_grad()


def test_sparse_gradients_are_no_alarm() -> None:
    model = nn.Embedding(10, 2, sparse=True)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    watch = ClearedGradients(optimizer)
    for step in range(20):
        model(torch.tensor([1, 2])).sum().backward()
        optimizer.step()
        watch.stepped()
        assert watch.happening(step) is None
        optimizer.zero_grad()


def test_an_optimizer_without_anything_to_watch_is_left_alone() -> None:
    watch = ClearedGradients(torch.optim.SGD([torch.ones(2)], 0.1))
    watch.stepped()
    assert watch.happening(0) is None
    watch.remove()


def test_the_watch_costs_a_few_microseconds_per_step() -> None:
    weight = nn.Parameter(torch.ones(1))
    watch = ClearedGradients(torch.optim.SGD([weight], 0.1))
    costs = []
    for _ in range(300):
        weight.grad = torch.ones(1)
        begin = time.perf_counter()
        watch._added(weight)
        watch.stepped()
        costs.append(time.perf_counter() - begin)
    assert sorted(costs)[len(costs) // 4] < 20e-6  # goal: 5, on a machine that does nothing else


TWO_RANKS = """
import os, sys
import torch
from torch import nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from stethoscope.guard.sensing.structure import ClearedGradients

rank, port = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
for view in (False, True):
    for clears in ("to zero", "to none", ""):
        torch.manual_seed(rank)
        model = DDP(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), gradient_as_bucket_view=view)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        watch = ClearedGradients(optimizer)
        told = 0
        for step in range(14):
            with model.no_sync():
                model(torch.randn(5, 3)).mean().backward()
            model(torch.randn(5, 3)).mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            watch.stepped()
            told += watch.happening(step) is not None
            if clears:
                optimizer.zero_grad(set_to_none=clears == "to none")
        print(view, bool(clears), told)
dist.destroy_process_group()
"""


def test_two_ranks_alarm_only_where_nothing_is_cleared() -> None:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command: list[Any] = [sys.executable, "-c", TWO_RANKS]
    both = [
        subprocess.Popen(
            [*command, str(rank), port], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for rank in (0, 1)
    ]
    for process in both:
        out, problems = process.communicate(timeout=120)
        assert process.returncode == 0, problems
        told = [line.split() for line in out.splitlines()]
        assert [number for _, clears, number in told if clears == "True"] == ["0"] * 4
        # As a view of a bucket, a gradient counts the writes of its neighbours too, and nothing is said.
        assert [number for view, clears, number in told if clears == "False"] == ["1", "0"]


def test_a_hook_that_fails_stops_the_watch_and_not_the_training() -> None:
    weight = nn.Parameter(torch.ones(2))
    watch = ClearedGradients(torch.optim.SGD([weight], 0.1))
    with torch.inference_mode():
        weight.grad = torch.ones(2)  # counts no writes
    watch.stepped()
    watch.stepped()
    assert watch.failure is not None
    weight.grad = None
    loss: Tensor = weight.sum()
    loss.backward()
    assert watch.happening(3) is None
