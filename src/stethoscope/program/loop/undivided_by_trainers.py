"""Losses of a Trainer's own `compute_loss` that nobody divides by the batches of an update.

A Trainer of transformers divides a loss by its accumulation, unless the network takes arguments for its loss:
then the loss is expected to be divided by `num_items_in_batch`, and a mean over one batch is simply added up.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.loop.counted_items import is_mean_loss
from stethoscope.program.settings.trainer_options import Told, trainer_options
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.trainers_made import trainers_made
from stethoscope.program.walk.values import Site
from stethoscope.run import Recipe

# Which networks take arguments for their loss in every version that hands them out.
TAKING = ("CausalLM", "LMHeadModel")
COUNT = "num_items_in_batch"
# What speaks of a division in the class itself.
SPOKEN = (
    "model_accepts_loss_kwargs",
    "loss_is_scaled_for_ga",
    "accepts_loss_kwargs",
    "accumulation",
    "super().compute",
)


@dataclass(frozen=True, slots=True, eq=False)
class UndividedLoss:
    """The mean that is handed to the Trainer, and the number of batches of an update."""

    loss: Site
    window: float
    told: Told


def undivided_by_trainers(index: Index, recipe: Recipe | None) -> Iterator[UndividedLoss]:
    """Every mean of a `compute_loss` that is handed the count of targets and drops it."""
    classes = {made.cls for made in trainers_made(index) if made.cls is not None}
    hooks = [(cls, hook) for cls in classes if (hook := index.method(cls, "compute_loss")) is not None]
    if not hooks or not _takes_arguments(index):
        return
    windows = [
        (number, one.told["gradient_accumulation_steps"])
        for one in trainer_options(index, recipe)
        if (number := one.number("gradient_accumulation_steps")) is not None and number > 1
    ]
    for cls, hook in hooks if windows else ():
        loss = _dropped_mean(index, cls, hook)
        if loss is not None:
            yield UndividedLoss(loss, *windows[0])


def _takes_arguments(index: Index) -> bool:
    return any(
        any(word in (dotted(call.func) or "") for word in TAKING)
        for module in index.modules.values()
        if not is_test(module.source)
        for call in all_nodes(module.source.tree, ast.Call)
    )


def _dropped_mean(index: Index, cls: Class, hook: Function) -> Site | None:
    """The mean of a loss that is told how many targets there are and does not ask."""
    spec = hook.node.args
    is_handed = spec.kwarg is not None or COUNT in hook.parameters
    text = ast.unparse(cls.node)
    used = [node for node in all_nodes(hook.node, ast.Name) if node.id == COUNT]
    if not is_handed or used or any(word in text for word in SPOKEN):
        return None
    if spec.kwarg is not None and any(
        isinstance(node, ast.Name) and node.id == spec.kwarg.arg for node in all_nodes(hook.node)
    ):
        return None  # what is handed on may hold the count
    calls = own_nodes(hook.node, ast.Call)
    return next((Site(hook.source, call) for call in calls if is_mean_loss(index, hook, call)), None)
