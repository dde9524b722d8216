"""Hooks that are written for a framework, or for a dispatcher of the program, and that nothing calls.

A framework calls its hooks by name, and so does a dispatcher: `getattr(callback, event)`. A method with the
manner of a hook whose name neither of them knows, and which the program mentions nowhere, never runs.
"""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test

# fmt: off
_STAGES = ("train", "validation", "test", "predict", "fit", "sanity_check", "pretrain_routine")
# What Lightning calls, or has called in one of its releases, by what stands behind "on_".
_EDGES = (
    "start", "end", "epoch_start", "epoch_end", "batch_start", "batch_end", "model_train", "model_eval",
)
LIGHTNING = frozenset(f"{stage}_{edge}" for stage in _STAGES for edge in _EDGES) | {
    "epoch_start", "epoch_end", "batch_start", "batch_end", "init_start", "init_end", "exception",
    "keyboard_interrupt", "load_checkpoint", "save_checkpoint", "before_backward", "after_backward",
    "before_optimizer_step", "before_zero_grad", "before_batch_transfer", "after_batch_transfer",
    "before_accelerator_backend_setup", "post_move_to_device", "validation_model_zero_grad",
    "train_dataloader", "validation_dataloader", "val_dataloader", "test_dataloader", "predict_dataloader",
    "reset_train_dataloader", "reset_val_dataloader",
}
TRANSFORMERS = frozenset({
    "init_end", "train_begin", "train_end", "epoch_begin", "epoch_end", "step_begin", "step_end",
    "substep_end", "pre_optimizer_step", "optimizer_step", "evaluate", "predict", "save", "log",
    "prediction_step", "push_begin",
})
# What a hook may be there for; one that only reports changes no training.
ACTING = frozenset({
    "step", "step_update", "update", "update_parameters", "update_ema", "clip_grad_norm_", "zero_grad",
    "clip_grad_value_", "clip_gradients", "set_epoch", "requires_grad_", "freeze", "unfreeze", "lerp_",
    "copy_", "mul_", "add_", "div_", "load_state_dict", "eval", "train", "backward", "manual_backward",
    "reset", "clamp_", "fill_",
})
# fmt: on
OWNERS = {
    "LightningModule": LIGHTNING,
    "LightningDataModule": LIGHTNING,
    "TrainerCallback": TRANSFORMERS,
}
PACKAGES = ("lightning", "pytorch_lightning", "transformers")
MANNERS = ("on", "before", "after", "begin", "end", "start")
LEAST_ALIKE = 0.65
FEWEST_EVENTS = 3  # that a dispatcher knows, before what it does not know says anything


@dataclass(frozen=True, slots=True, eq=False)
class UncalledHook:
    """A method that waits for a call, the name that would be called, and what it would have done."""

    method: Function
    meant: str
    does: str


@remembered
def uncalled_hooks(index: Index) -> tuple[UncalledHook, ...]:
    """Every method in the manner of a hook that neither a framework nor the program calls."""
    said = _Said(index)
    events = sorted(filter(_is_event, said.events))
    found = []
    for cls in index.classes:
        known = None if is_test(cls.source) else _known_to(index, cls, events)
        for name, method in cls.methods.items():
            if known is None or not _is_event(name) or name in known or method.decorators or name in said:
                continue
            if any(
                name in other.methods
                for other in (*index.lineage(cls), *_heirs(index, cls))
                if other is not cls
            ):
                continue
            meant = difflib.get_close_matches(name, sorted(known), 1, LEAST_ALIKE)
            does = _what(method)
            if does and meant and meant[0] not in cls.methods:
                found.append(UncalledHook(method, meant[0], does))
    return tuple(found)


def _known_to(index: Index, cls: Class, events: list[str]) -> frozenset[str] | None:
    """The names of hooks that whoever calls this class knows; None where that cannot be told."""
    outside = index.outside_bases(cls)
    for base in outside:
        package, last = base.partition(".")[0], base.rpartition(".")[2]
        if package in PACKAGES:
            hooks = OWNERS.get(last, LIGHTNING if last == "Callback" and package != "transformers" else None)
            return (
                frozenset(f"on_{one}" for one in hooks) if hooks is not None and len(outside) == 1 else None
            )
    if any(base.rpartition(".")[2] not in {"object", "ABC"} for base in outside):
        return None
    family = [cls, *index.lineage(cls)]
    family += [heir for one in tuple(family) for heir in _heirs(index, one)]
    own = {name for one in family for name in one.methods if _is_event(name)}
    is_called = not own.isdisjoint(events)
    return frozenset(events) if is_called and len(events) >= FEWEST_EVENTS else None


def _heirs(index: Index, cls: Class) -> list[Class]:
    return [one for one in index.classes if cls in index.lineage(one)]


def _is_event(name: str) -> bool:
    parts = name.split("_")
    return (
        len(parts) > 1 and (parts[0] in MANNERS[:3] or parts[-1] in MANNERS[3:]) and not name.startswith("_")
    )


class _Said:
    """The names that a program mentions in any way but by defining a method."""

    def __init__(self, index: Index) -> None:
        self.events: set[str] = set()  # whole texts, and methods that are called
        self._names: set[str] = set()
        self._patterns: list[re.Pattern[str]] = []
        for module in index.modules.values():
            for node in all_nodes(module.source.tree):
                self._note(node)

    def __contains__(self, name: str) -> bool:
        return name in self._names or any(pattern.fullmatch(name) for pattern in self._patterns)

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Constant(value=str() as text) if text.isidentifier():
                self.events.add(text)
            case ast.Call(func=ast.Attribute(attr=name)):
                self.events.add(name)
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name):
                self._names.add(name)
            case ast.Constant(value=str() as text) if len(text) < 500:
                self._names.update(re.findall(r"[A-Za-z_]\w+", text))
            case ast.JoinedStr(values=values):
                # f"before_{event}" may be any name that begins so.
                parts = [
                    re.escape(str(one.value)) if isinstance(one, ast.Constant) else r"\w*" for one in values
                ]
                self._add_pattern("".join(parts))
            case ast.BinOp(op=ast.Add(), left=ast.Constant(value=str() as text)):
                self._add_pattern(re.escape(text) + r"\w*")
            case ast.BinOp(op=ast.Add(), right=ast.Constant(value=str() as text)):
                self._add_pattern(r"\w*" + re.escape(text))

    def _add_pattern(self, pattern: str) -> None:
        if re.fullmatch(r"(?:\w|\\w\*)+", pattern) and len(pattern.replace(r"\w*", "")) > 1:
            self._patterns.append(re.compile(pattern))


def _what(method: Function) -> str:
    """What a hook would do to the training: "schedule", "clip", "average" or "other"; "" for nothing."""
    calls = list(own_nodes(method.node, ast.Call))
    owners = " ".join(ast.unparse(call.func).lower() for call in calls)
    acts = [getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls]
    if any(name.startswith("clip_grad") for name in acts):
        return "clip"
    if "step" in acts and re.search(r"sched|lr", owners):
        return "schedule"
    if re.search(r"ema|average", owners) and "update" in " ".join(acts):
        return "average"
    stores = any(
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == "lr"
        for node in own_nodes(method.node, ast.Assign)
        for target in node.targets
    )
    return "schedule" if stores else "other" if ACTING.intersection(acts) else ""
