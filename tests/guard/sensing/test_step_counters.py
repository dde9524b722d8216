"""Counting the steps of all parameters together gives what torch's own counting gives."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from stethoscope.guard.sensing.step_counters import StepCounters

BAD = frozenset({3, 4, 9})
Between = Callable[[torch.optim.Optimizer, int], None]
ADD, SUBTRACT = torch._foreach_add_, torch._foreach_sub_


def nothing(optimizer: torch.optim.Optimizer, step: int) -> None:
    pass


def reloads(optimizer: torch.optim.Optimizer, step: int) -> None:
    if step == 6:
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def forgets_one(optimizer: torch.optim.Optimizer, step: int) -> None:
    if step == 6:
        optimizer.state.pop(optimizer.param_groups[0]["params"][1], None)


def adds_one(optimizer: torch.optim.Optimizer, step: int) -> None:
    if step == 6:
        optimizer.add_param_group({"params": [nn.Parameter(torch.ones(2))]})


def trained(kind: type[torch.optim.Optimizer], together: bool, between: Between) -> list[Tensor]:
    torch.manual_seed(0)
    parameters = [nn.Parameter(torch.randn(3)) for _ in range(5)]
    groups = [{"params": parameters[:3]}, {"params": parameters[3:], "lr": 0.02}]
    optimizer = kind(groups, lr=0.1, fused=True)
    counters = StepCounters(optimizer)
    for step in range(12):
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = torch.full_like(parameter, 0.1 * step + 0.1)
        flag = torch.tensor(float(step in BAD))
        optimizer.found_inf, optimizer.grad_scale = flag, None
        if together:
            counters.listen(flag)
        optimizer.step()
        counters.leave()
        between(optimizer, step)
    held = [p for group in optimizer.param_groups for p in group["params"]]
    return [
        tensor for p in held for tensor in (p.detach(), *optimizer.state[p].values()) if tensor is not None
    ]


@pytest.mark.parametrize("between", [nothing, reloads, forgets_one, adds_one])
@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad])
def test_weights_moments_and_counters_are_the_same(
    kind: type[torch.optim.Optimizer], between: Between
) -> None:
    apart, together = trained(kind, False, between), trained(kind, True, between)
    assert len(apart) == len(together)
    assert all(torch.equal(one, other) for one, other in zip(apart, together, strict=True))


def test_a_state_with_joined_counters_is_saved_and_loaded(tmp_path: object) -> None:
    parameters = [nn.Parameter(torch.ones(2)) for _ in range(3)]
    optimizer = torch.optim.AdamW(parameters, fused=True)
    counters = StepCounters(optimizer)
    for _ in range(3):
        for parameter in parameters:
            parameter.grad = torch.ones(2)
        flag = torch.zeros(())
        optimizer.found_inf, optimizer.grad_scale = flag, None
        counters.listen(flag)
        optimizer.step()
        counters.leave()
    assert [optimizer.state[p]["step"].dim() for p in parameters] == [0, 0, 0]
    assert [float(optimizer.state[p]["step"]) for p in parameters] == [3.0, 3.0, 3.0]
    path = f"{tmp_path}/state.pt"
    torch.save(optimizer.state_dict(), path)
    loaded = torch.load(path, weights_only=True)
    assert [float(one["step"]) for one in loaded["state"].values()] == [3.0, 3.0, 3.0]


def test_torch_is_left_as_it_was() -> None:
    trained(torch.optim.AdamW, True, nothing)
    assert torch._foreach_add_ is ADD
    assert torch._foreach_sub_ is SUBTRACT


def test_a_step_that_fails_leaves_nothing_behind_for_the_next() -> None:
    parameter = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.AdamW([parameter], fused=True)
    counters = StepCounters(optimizer)
    counters.listen(torch.zeros(()))  # and nobody leaves, as where the step raised
    counters.listen(torch.zeros(()))
    values = [torch.ones(2)]
    torch._foreach_sub_(values, [torch.ones(2)])
    torch._foreach_add_(values, 2.0)
    counters.leave()
    assert torch.equal(values[0], torch.full((2,), 2.0))
    assert torch._foreach_sub_ is SUBTRACT
