"""A distributed sampler is never told the epoch, so every epoch has the same order.

## What it checks
A training loader with a `DistributedSampler` inside a loop of epochs: whether `set_epoch` is called anywhere
on the way.

## Why it matters
The sampler seeds its shuffle with the epoch. Without `set_epoch` each epoch shows the same batches in the
same order, with the same neighbours, on every rank: a large part of what shuffling is for is lost.

## When it is harmless
With one epoch, with `shuffle=False`, or where Accelerate or Lightning prepare the loader and call it
themselves. A sampler of another kind need not know the epoch.

## References
- torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.events import Call
from stethoscope.program.moves import receiver_role
from stethoscope.program.roles import Role
from stethoscope.program.training_data import TrainingLoader, is_off, repeats
from stethoscope.program.values import Applied, Choice, Value
from stethoscope.signals.training_data import TrainingLoaders

RULE = Rule(code="DAT102", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loaders: TrainingLoaders) -> Iterator[Finding]:
    """Report each distributed sampler whose epoch is never set."""
    for loader in loaders:
        given = (loader.options.get(name) for name in ("sampler", "batch_sampler"))
        sampler = next((one for value in given if (one := _distributed(value)) is not None), None)
        if sampler is None or not repeats(loader) or _is_told(loader):
            continue
        if "shuffle" in sampler.keywords and is_off(sampler.keywords["shuffle"]):
            continue
        yield Finding(
            where=(sampler.site.where, loader.site.where),
            message="the distributed sampler shuffles by the epoch, and set_epoch is never called",
            evidence={"sampler": sampler.site.text},
        )


def _distributed(value: Value | None) -> Applied | None:
    options = value.options if isinstance(value, Choice) else (value,)
    for one in options:
        if isinstance(one, Applied) and one.callee.rpartition(".")[2] == "DistributedSampler":
            return one
        if isinstance(one, Applied) and one.callee.rpartition(".")[2] == "BatchSampler":
            return _distributed(one.args[0] if one.args else one.keywords.get("sampler"))
    return None


def _is_told(loader: TrainingLoader) -> bool:
    """Whether the epoch is set, or a framework that does so has the loader."""
    for event in loader.run.events:
        if isinstance(event, Call):
            if event.name == "set_epoch" and not _is_told_a_number(event):
                return True
            if (
                event.name in {"prepare", "setup_dataloaders"}
                and receiver_role(loader.run, event) is Role.ENGINE
            ):
                return True
    return False


def _is_told_a_number(event: Call) -> bool:
    """`sampler.set_epoch(0)` says the same in every epoch."""
    node = event.site.node
    return isinstance(node, ast.Call) and bool(node.args) and isinstance(node.args[0], ast.Constant)
