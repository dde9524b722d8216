"""Averages that a hook of Lightning loads into the module for its validation, and that no hook takes out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Index, dotted
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

BASES = frozenset({"Callback", "LightningModule"})
BEFORE = frozenset({"on_validation_start", "on_validation_epoch_start", "on_validation_batch_start"})
MIXING = frozenset({"mul_", "lerp_", "update_parameters", "add_"})
# What may put the weights back, in whatever method it stands.
RETURNING = frozenset({"load_state_dict", "copy_", "swap", "restore", "swap_", "set_"})


@dataclass(frozen=True, slots=True, eq=False)
class PutInByHook:
    """Where an average is loaded, and where it is kept up."""

    put_in: Site
    kept_up: Site


def put_in_by_hooks(index: Index) -> Iterator[PutInByHook]:
    """Every average that stays in the module when the validation is over."""
    for cls in index.classes:
        bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
        if bases & BASES and not is_test(cls.source):
            yield from _of_class(cls)


def _of_class(cls: Class) -> Iterator[PutInByHook]:
    calls = [
        (method, call, call.func)
        for method in cls.methods.values()
        for call in own_nodes(method.node, ast.Call)
        if isinstance(call.func, ast.Attribute)
    ]
    for hook, call, _ in calls:
        kept = _loaded(call)
        if hook.name not in BEFORE or kept is None:
            continue
        others = [func for method, one, func in calls if one is not call and method.name != "load_state_dict"]
        # What only writes into the average itself gives nothing back: `self.kept[name].copy_(value)`.
        if any(one.attr in RETURNING and not ast.unparse(one.value).startswith(kept) for one in others):
            continue
        for method, one, func in calls:
            if func.attr in MIXING and kept in ast.unparse(func):
                yield PutInByHook(Site(hook.source, call), Site(method.source, one))
                break


def _loaded(call: ast.Call) -> str | None:
    """What an object holds and a network is loaded from: `pl_module.load_state_dict(self.kept)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "load_state_dict" or not call.args:
        return None
    given = call.args[0]
    if (
        isinstance(given, ast.Call)
        and isinstance(given.func, ast.Attribute)
        and given.func.attr == "state_dict"
    ):
        given = given.func.value
    name = dotted(given) or ""
    return name if name.startswith("self.") and name.count(".") == 1 else None
