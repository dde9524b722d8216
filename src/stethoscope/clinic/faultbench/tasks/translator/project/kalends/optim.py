"""The optimizer, its learning rate over time, and the averaged weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from functools import partial

import torch
from torch import nn

from kalends.recipe import Anneal, Optim


def make_optimizer(net: nn.Module, options: Optim) -> torch.optim.Optimizer:
    """Matrices decay; biases, norms and embeddings do not."""
    tables = {id(module.weight) for module in net.modules() if isinstance(module, nn.Embedding)}
    shrinking, free = [], []
    for weight in net.parameters():
        (shrinking if weight.ndim == 2 and id(weight) not in tables else free).append(weight)
    groups = [{"params": shrinking, "weight_decay": options.decay}, {"params": free, "weight_decay": 0.0}]
    betas = (options.beta1, options.beta2)
    return torch.optim.AdamW(groups, lr=options.lr, betas=betas, eps=options.eps)


def noam(update: int, plan: Anneal) -> float:
    return math.sqrt(plan.warmup / max(update, plan.warmup))


def cosine(update: int, plan: Anneal) -> float:
    share = min(1.0, (update - plan.warmup) / max(1, plan.end - plan.warmup))
    return 0.5 * (1.0 + math.cos(math.pi * share))


def waves(update: int, plan: Anneal) -> float:
    share = min(0.999, (update - plan.warmup) / max(1, plan.end - plan.warmup))
    return 0.5 * (1.0 + math.cos(math.pi * (plan.waves * share % 1.0)))


def flat(update: int, plan: Anneal) -> float:
    return 1.0


SHAPES: dict[str, Callable[[int, Anneal], float]] = {
    "noam": noam,
    "cosine": cosine,
    "waves": waves,
    "flat": flat,
}


def multiplier(update: int, plan: Anneal) -> float:
    """The share of the peak that an update is made with, the first one being 0."""
    if update < plan.warmup:
        return (update + 1) / plan.warmup
    return SHAPES[plan.shape](update, plan)


def make_annealing(optimizer: torch.optim.Optimizer, plan: Anneal) -> torch.optim.lr_scheduler.LambdaLR:
    return torch.optim.lr_scheduler.LambdaLR(optimizer, partial(multiplier, plan=plan))


class Shadow:
    """Follows the weights of a network at a distance."""

    def __init__(self, net: nn.Module, decay: float):
        self.net = deepcopy(net).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def follow(self, net: nn.Module) -> None:
        for ours, theirs in zip(self.net.parameters(), net.parameters()):
            ours.lerp_(theirs, 1.0 - self.decay)
