"""Weights that become half in ways other than a cast of the whole network.

Parameter by parameter (`p.data = p.data.half()`), module by module (`for m in model.modules(): m.half()`),
and by Fabric ("bf16-true").
"""

from __future__ import annotations

import ast

from stethoscope.program.index import dotted
from stethoscope.program.precision.autocast import HALVES, DType, engine_weights, named_dtype
from stethoscope.program.precision.half_weights import weights_cast
from stethoscope.program.settings.stated_options import stated
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    FunctionValue,
    LambdaValue,
    Part,
    Value,
    inputs,
)

SETTING_UP = frozenset({"setup", "setup_module", "setup_model"})
VISITING = frozenset({"modules", "children", "parameters", "named_modules", "named_parameters"})
CASTS = {".half": DType.FLOAT16, ".bfloat16": DType.BFLOAT16}
DEEPEST = 8  # values looked through from a cast to the network


def recast(event: Event, run: Execution) -> tuple[DType, list[Value]] | None:
    """The half type that an event gives the parts of a network, and all that these parts come from."""
    if _is_of_frozen(event):
        return None
    if isinstance(event, Assignment) and getattr(event.target, "attr", "") == "data":
        dtype = _cast_to(event.value)
        return (dtype, _tree(event.value)) if dtype is not None else None
    if not isinstance(event, Call) or event.receiver is None:
        return None
    if event.name in SETTING_UP:
        weights = engine_weights(stated(run.index, run.settings, event.receiver))
        return (weights, list(event.args)) if weights in HALVES and weights is not None else None
    if event.name == "apply" and event.args:
        applied = _applied(event.args[0])
        return (applied, [event.receiver]) if applied is not None else None
    dtype = weights_cast(event, run)
    if dtype is None or not isinstance(event.receiver, Part):
        return None
    origin = _tree(event.receiver)
    return (dtype, origin) if any(_visits(value) for value in origin) else None


def _is_of_frozen(event: Event) -> bool:
    """Whether only those weights are cast that do not train: `if not p.requires_grad`."""
    tests = (scope.node for scope in event.scopes() if scope.kind == "if")
    return any("requires_grad" in ast.dump(test) for test in tests)


def _applied(function: Value) -> DType | None:
    """The half type that `model.apply(function)` casts each part to."""
    match function:
        case LambdaValue(node=node):
            nodes = [node.body]
        case FunctionValue(function=own):
            nodes = [statement.value for statement in own.node.body if isinstance(statement, ast.Expr)]
        case _:
            return None
    for written in nodes:
        match written:
            case ast.Call(func=ast.Attribute(attr="half")):
                return DType.FLOAT16
            case ast.Call(func=ast.Attribute(attr="bfloat16")):
                return DType.BFLOAT16
            case ast.Call(func=ast.Attribute(attr="to"), args=args, keywords=words):
                for one in (*args, *(word.value for word in words)):
                    dtype = named_dtype(Constant((dotted(one) or "").rpartition(".")[2]))
                    if dtype in HALVES:
                        return dtype
    return None


def made_half(value: Value) -> DType | None:
    """The half type of a layer that is made so: `nn.Linear(4, 4, dtype=torch.bfloat16)`."""
    if not isinstance(value, Applied) or not value.callee.startswith("torch.nn."):
        return None
    dtype = named_dtype(value.keywords.get("dtype"))
    return dtype if dtype in HALVES else None


def _cast_to(value: Value) -> DType | None:
    if not isinstance(value, Applied):
        return None
    if value.callee in CASTS:
        return CASTS[value.callee]
    named = [named_dtype(one) for one in (*value.args[1:], *value.keywords.values())]
    found = [dtype for dtype in named if dtype in HALVES]
    return found[0] if value.callee in {".to", ".type"} and found else None


def _visits(value: Value) -> bool:
    if isinstance(value, Part):
        return value.key in VISITING
    return isinstance(value, Applied) and value.callee.removeprefix(".") in VISITING


def _tree(value: Value) -> list[Value]:
    found: list[Value] = []
    waiting = [(value, 0)]
    while waiting:
        current, depth = waiting.pop()
        found.append(current)
        if depth < DEEPEST and isinstance(current, Applied | Part | Choice):
            waiting.extend((one, depth + 1) for one in inputs(current))
    return found
