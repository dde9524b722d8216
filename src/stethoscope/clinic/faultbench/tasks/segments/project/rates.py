"""Optimizers and the course of their learning rate."""

import math
from functools import partial

import torch
from torch.optim.lr_scheduler import LambdaLR

LEAST = 0.01


def make_optimizer(cfg, net):
    """AdamW or SGD; norms and biases do not decay."""
    decay = [p for p in net.parameters() if p.ndim > 1]
    rest = [p for p in net.parameters() if p.ndim <= 1]
    groups = [{"params": decay, "weight_decay": cfg["weight_decay"]}, {"params": rest, "weight_decay": 0.0}]
    if cfg["kind"] == "sgd":
        sgd = cfg["sgd"]
        return torch.optim.SGD(groups, lr=sgd["lr"], momentum=sgd["momentum"], nesterov=True)
    adamw = cfg["adamw"]
    return torch.optim.AdamW(groups, lr=adamw["lr"], betas=(0.9, adamw["beta2"]), eps=adamw["eps"])


def lr_factor(it, cfg):
    """The share of the base rate at an iteration."""
    if cfg["shape"] == "onecycle":
        return one_cycle(min(1.0, it / cfg["iters"]))
    if it < cfg["warmup_iters"]:
        return (it + 1) / cfg["warmup_iters"]
    gone = min(1.0, (it - cfg["warmup_iters"]) / max(1, cfg["iters"] - cfg["warmup_iters"]))
    if cfg["shape"] == "flat":
        return 1.0
    if cfg["shape"] == "cosine":
        return max(LEAST, 0.5 + 0.5 * math.cos(math.pi * gone))
    if cfg["shape"] == "rounds" and gone < 1.0:
        return max(LEAST, 0.5 + 0.5 * math.cos(math.pi * (cfg["rounds"] * gone % 1.0)))
    return max(LEAST, (1.0 - gone) ** cfg["power"])


def one_cycle(gone, rise=0.25):
    """Up from a tenth in the first quarter, then down to next to nothing."""
    if gone < rise:
        return 0.1 + 0.9 * (0.5 - 0.5 * math.cos(math.pi * gone / rise))
    return max(LEAST, 0.5 + 0.5 * math.cos(math.pi * (gone - rise) / (1.0 - rise)))


def make_scheduler(cfg, optimizer):
    return LambdaLR(optimizer, partial(lr_factor, cfg=cfg))
