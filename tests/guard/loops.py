"""A small training loop with every choice that Guard must not care about."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from stethoscope.guard import Guard

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "adamw fused": lambda p: torch.optim.AdamW(p, 1e-2, fused=True),
    "adamw foreach": lambda p: torch.optim.AdamW(p, 1e-2, foreach=True),
    "adamw plain": lambda p: torch.optim.AdamW(p, 1e-2, foreach=False),
    "sgd fused": lambda p: torch.optim.SGD(p, 1e-2, momentum=0.9, fused=True),
    "sgd": lambda p: torch.optim.SGD(p, 1e-2, momentum=0.9),
    "adagrad fused": lambda p: torch.optim.Adagrad(p, 1e-2, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 1e-3),
}


@dataclass(slots=True)
class Trained:
    """What a loop leaves behind."""

    losses: list[float]
    weights: list[Tensor]
    state: dict[str, Any]
    guard: Guard | None
    model: nn.Module
    scale: float | None = None
    before: dict[int, list[Tensor]] = field(default_factory=dict)


def train(
    guarded: bool,
    optimizer: str = "adamw fused",
    *,
    steps: int = 24,
    clip: bool = False,
    scaled: bool = False,
    accumulate: int = 1,
    spoil: Callable[[int, Tensor], Tensor] = lambda step, x: x,
    spoil_gradients: Callable[[int, nn.Module], None] = lambda step, model: None,
    rate: Callable[[int], float] = lambda step: 1.0,
    noise: float = 1.0,
    directory: Path | None = None,
    model: nn.Module | None = None,
    keep: frozenset[int] = frozenset(),
    arguments: Mapping[str, Any] | None = None,
) -> Trained:
    """Fit a small net to a fixed line; `spoil` changes the inputs of a step."""
    torch.manual_seed(0)
    model = model or nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.ReLU(), nn.Linear(16, 1))
    truth = torch.linspace(-1.0, 1.0, 8)
    chosen = OPTIMIZERS[optimizer](model.parameters())
    own = [group["lr"] for group in chosen.param_groups]
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=8) if scaled else None
    guard = Guard(model, chosen, scaler=scaler, directory=directory, **(arguments or {})) if guarded else None
    losses, before = [], {}
    for step in range(steps):
        if step in keep:
            before[step] = copied(model, chosen)
        for group, lr in zip(chosen.param_groups, own, strict=True):
            group["lr"] = lr * rate(step)
        chosen.zero_grad()
        for _ in range(accumulate):
            x = torch.randn(16, 8)
            y = (x @ truth)[:, None] + noise * 0.1 * torch.randn(16, 1)
            x = spoil(step, x)
            loss = ((model(x) - y) ** 2).mean()
            if guard is not None:
                guard.loss(loss, parts={"mse": loss, "told": 0.5})
            (scaler.scale(loss / accumulate) if scaler else loss / accumulate).backward()
        if scaler is not None and clip:
            scaler.unscale_(chosen)
        spoil_gradients(step, model)
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if scaler is not None:
            scaler.step(chosen)
            scaler.update()
        else:
            chosen.step()
        losses.append(loss.item())
    if guard is not None:
        guard.close()
    weights = [p.detach().clone() for p in model.parameters()]
    scale = scaler.get_scale() if scaler is not None else None
    return Trained(losses, weights, copy.deepcopy(chosen.state_dict()), guard, model, scale, before)


def copied(model: nn.Module, optimizer: torch.optim.Optimizer) -> list[Tensor]:
    """Weights and the optimizer's own tensors."""
    state = [value for one in optimizer.state.values() for value in one.values() if isinstance(value, Tensor)]
    return [tensor.detach().clone() for tensor in (*model.parameters(), *state)]


def nan_at(*steps: int) -> Callable[[int, Tensor], Tensor]:
    """Spoil one number of the inputs of these steps."""

    def spoil(step: int, x: Tensor) -> Tensor:
        if step in steps:
            x = x.clone()
            x[3, 2] = torch.nan
        return x

    return spoil
