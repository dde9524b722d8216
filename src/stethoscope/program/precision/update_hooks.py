"""The methods that a framework calls between a backward pass and the update, each walked on its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.budget import budget
from stethoscope.program.walk.execution import Execution, Exhausted

BASES = ("Callback", "LightningModule", "TrainerCallback", "Hook")
HOOKS = frozenset(
    {"on_before_optimizer_step", "on_after_backward", "on_pre_optimizer_step", "configure_gradient_clipping"}
)
STEPS = 2_000  # for one hook
ALL_STEPS = 20_000


@remembered
def update_hooks(index: Index, settings: SettingsTree) -> tuple[tuple[Function, Execution], ...]:
    """Each such method of the program, with the walk through it."""
    found = []
    left = budget(index, ALL_STEPS)
    for method in _methods(index):
        if left <= 0:
            break
        run = Execution(index, settings, STEPS, tracing=True)
        with suppress(Exhausted, RecursionError):  # what was met so far stands
            run.enter(method, run.make(method.owner) if method.owner is not None else None)
        left -= STEPS - max(run.steps, 0)
        found.append((method, run))
    return tuple(found)


def _methods(index: Index) -> Iterator[Function]:
    for cls in index.classes:
        names = HOOKS.intersection(cls.methods)
        if names and _is_of_framework(index, cls):
            yield from (cls.methods[name] for name in sorted(names))


def _is_of_framework(index: Index, cls: Class) -> bool:
    return any(base.rpartition(".")[2].endswith(BASES) for base in index.outside_bases(cls))
