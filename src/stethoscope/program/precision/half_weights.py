"""Networks whose weights are half: cast by a call, sharded so, or loaded so."""

from __future__ import annotations

import ast

from stethoscope.program.index import Index
from stethoscope.program.precision.autocast import HALVES, DType, dtypes_of, named_dtype
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.settings.stated_options import stated
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.values import Applied, Choice, ClassValue, Delayed, Items, Part, Value


def sharded_weights(index: Index, settings: SettingsTree, event: Call) -> DType | None:
    """The half type in which FSDP gathers the weights: `MixedPrecisionPolicy(param_dtype=...)`."""
    given = event.keywords.get("mp_policy", event.keywords.get("mixed_precision"))
    policy = stated(index, settings, given)
    if not isinstance(policy, Applied):
        return None
    asked = policy.keywords.get("param_dtype", policy.args[0] if policy.args else None)
    dtype = named_dtype(asked)
    return dtype if dtype in HALVES else None


def weights_cast(event: Call, run: Execution) -> DType | None:
    """The half type that a call `model.half()` or `model.to(torch.bfloat16)` gives a network's weights."""
    if _is_of_gradient(event):
        return None
    if event.name == "half" and not event.args:
        return DType.FLOAT16
    if event.name == "bfloat16" and not event.args:
        return DType.BFLOAT16
    found = _asked_of(event, run) & HALVES
    return DType.BFLOAT16 if len(found) > 1 else next(iter(found), None)


def _is_of_gradient(event: Call) -> bool:
    """`p.grad.half()` gives a copy of a gradient and leaves the weights as they are."""
    func = event.site.node.func if isinstance(event.site.node, ast.Call) else None
    of = func.value if isinstance(func, ast.Attribute) else None
    return isinstance(of, ast.Attribute) and of.attr == "grad"


def may_stay_single(event: Call, run: Execution) -> bool:
    """Whether a cast of weights is to half only under some settings: `model.to(dtype)` of a choice."""
    return DType.FLOAT32 in _asked_of(event, run)


def _asked_of(event: Call, run: Execution) -> frozenset[DType]:
    """The types that a network may be cast to."""
    if event.name not in {"to", "type"}:
        return frozenset()
    given = (*event.args, *(value for key, value in event.keywords.items() if key == "dtype"))
    return frozenset[DType]().union(*(dtypes_of(forced(run, value))[0] for value in given))


def forced(run: Execution, value: Value) -> Value:
    """What a function of the repository gives: a network that it builds, a type that it chooses."""
    if not isinstance(value, Delayed):
        return value
    run.steps = max(run.steps, 1_000)
    try:
        return run.force(value)
    except (Exhausted, RecursionError):
        return value


def half_made(value: Value | None) -> DType | None:
    """The half type of weights that something outside gives: `from_pretrained(..., torch_dtype=...)`."""
    if isinstance(value, Choice):
        found = {half_made(option) for option in value.options}
        return found.pop() if len(found) == 1 else None
    if isinstance(value, Part) and isinstance(value.key, int):
        return half_made(value.base)
    if isinstance(value, Items | ClassValue | Delayed) or not isinstance(value, Applied):
        return None
    asked = value.keywords.get("torch_dtype", value.keywords.get("dtype"))
    dtype = named_dtype(asked)
    if value.callee.rpartition(".")[2] in {"from_pretrained", "from_config", "from_single_file"}:
        return dtype if dtype in HALVES else None
    return None
