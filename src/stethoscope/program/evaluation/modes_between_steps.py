"""Networks that a hook of Lightning puts into evaluation mode between two steps of training, and leaves so.

Lightning puts back the modes that a validation changes. What `on_train_epoch_end` or `on_train_batch_end`
switches, in the module or in a callback, stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.framework_instances import made_for_hooks
from stethoscope.program.walk.networks import has_two_modes
from stethoscope.program.walk.values import Site

STEPS = 20_000
BETWEEN = frozenset(
    {
        *("on_train_batch_start", "on_train_batch_end", "on_train_epoch_start", "on_train_epoch_end"),
        *("on_before_zero_grad", "on_before_optimizer_step", "training_epoch_end", "on_after_backward"),
    }
)
# Methods of a network that are a look at what it gives.
LOOKS = frozenset(
    {"forward", "sample", "generate", "predict", "decode", "encode", "predict_step", "reconstruct"}
)
MODULE_PLACE = 2  # of the module, among the parameters of a callback's hooks


@dataclass(frozen=True, slots=True, eq=False)
class LeftBetween:
    """Where a network is switched, the look at it, and what it is called in its module."""

    switch: Site
    look: Site
    name: str


def left_between_steps(index: Index, settings: SettingsTree) -> Iterator[LeftBetween]:
    """Every network that training goes on with in evaluation mode because of such a hook."""
    modules = [cls for cls in index.classes if _is(index, cls, "LightningModule") and not is_test(cls.source)]
    for cls in modules:
        for name, hook in cls.methods.items():
            if name in BETWEEN:
                yield from _left(index, settings, cls, hook, "self", (cls,))
    steps = [cls for cls in modules if index.method(cls, "training_step") is not None]
    for cls in index.classes if len(steps) == 1 else ():
        for name, hook in cls.methods.items() if _is(index, cls, "Callback") else ():
            if name in BETWEEN and len(hook.parameters) > MODULE_PLACE:
                owner = hook.parameters[MODULE_PLACE]
                yield from _left(index, settings, steps[0], hook, owner, (cls, steps[0]))


def _is(index: Index, cls: Class, base: str) -> bool:
    return any(one.rpartition(".")[2] == base for one in index.outside_bases(cls))


def _left(
    index: Index, settings: SettingsTree, module: Class, hook: Function, owner: str, beside: tuple[Class, ...]
) -> Iterator[LeftBetween]:
    calls = sorted(own_nodes(hook.node, ast.Call), key=lambda one: (one.lineno, one.col_offset))
    for place, call in enumerate(calls):
        path = _switched(call, owner)
        if path is None or any(_switches_back(one) for cls in beside for one in _calls_of(cls)):
            continue
        part = path.removeprefix(owner).removeprefix(".")
        look = next((one for one in calls[place + 1 :] if _looks_at(one, owner, path)), None)
        if look is not None and _is_trained(module, part) and _has_modes(index, settings, module, part):
            name = f"self.{part}" if part else "the module"
            yield LeftBetween(Site(hook.source, call), Site(hook.source, look), name)


def _switched(call: ast.Call, owner: str) -> str | None:
    """What is put into evaluation mode: `self.eval()`, `pl_module.net.eval()`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "eval" or call.args or call.keywords:
        return None
    path = dotted(call.func.value) or ""
    return path if path == owner or (path.startswith(f"{owner}.") and path.count(".") == 1) else None


def _calls_of(cls: Class) -> Iterator[ast.Call]:
    for method in cls.methods.values():
        yield from own_nodes(method.node, ast.Call)


def _switches_back(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in {"train", "restore", "set_mode"}


def _looks_at(call: ast.Call, owner: str, path: str) -> bool:
    """Whether a call runs the network: itself, the module around it, or a method that gives something."""
    called = dotted(call.func) or ""
    if called in {owner, path}:
        return True
    holder, _, last = called.rpartition(".")
    return holder in {owner, path} and last in LOOKS


def _is_trained(module: Class, part: str) -> bool:
    """Whether an optimizer gets the part, and nothing takes it out of training."""
    text = "\n".join(ast.unparse(method.node) for method in module.methods.values())
    if not part:
        return "requires_grad" not in text
    own = f"self.{part}"
    is_frozen = any(f"{own}.{word}" in text for word in ("requires_grad_", "freeze")) or (
        f"in {own}.parameters()" in text and "requires_grad" in text
    )
    configured = module.methods.get("configure_optimizers")
    given = ast.unparse(configured.node) if configured is not None else ""
    return not is_frozen and (f"{own}.parameters" in given or "self.parameters" in given)


def _has_modes(index: Index, settings: SettingsTree, module: Class, part: str) -> bool:
    run = Execution(index, settings, STEPS)
    try:
        made = made_for_hooks(run, module)
        run.initialise(made)
        return has_two_modes(run, made.attributes.get(part) if part else made) is True
    except (Exhausted, RecursionError):
        return False
