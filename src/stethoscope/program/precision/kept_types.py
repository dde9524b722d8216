"""The type of what an object keeps: its parameters and buffers have that of the weights."""

from __future__ import annotations

from stethoscope.program.precision.autocast import DType
from stethoscope.program.precision.tensor_types import CREATING, NUMBER, UNKNOWN, Held, Mode, promoted
from stethoscope.program.walk.values import Applied, Constant, Leaf, Part, Value

ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "**", "%", "neg"})
METHODS_OF_PARTS = frozenset(
    {".view", ".reshape", ".unsqueeze", ".squeeze", ".expand", ".clone", ".float", "max", "min"}
)


def held_of(value: Value | None, mode: Mode) -> Held:
    """What is known of an object: parameters and buffers are of the weights' type."""
    match value:
        case Constant(value=int() | float()):
            return Held(DType.NUMBER, value=value)
        case Applied(callee=callee) if callee == "torch.tensor":
            return NUMBER
        case Applied():
            kind = _kind(value, mode)
            return Held(value=value) if kind is DType.UNKNOWN else Held(kind)
        case None | Leaf():
            return UNKNOWN
    return Held(value=value)


def _kind(value: Value, mode: Mode, depth: int = 6) -> DType:
    """What an expression that an object keeps is: a number, or a tensor of the weights' type."""
    match value:
        case Constant(value=int() | float()) | Applied(callee="torch.tensor"):
            return DType.NUMBER
        case Leaf() | Part():
            return DType.NUMBER  # an argument among numbers: `dim**-0.5`
        case Applied(callee="torch.nn.Parameter" | "torch.nn.parameter.Parameter", args=[inner, *_]):
            return _kind(inner, mode, depth - 1) if depth else DType.UNKNOWN
        case Applied(callee=callee, args=args) if depth and (
            callee in ARITHMETIC or callee in METHODS_OF_PARTS
        ):
            kinds = {_kind(arg, mode, depth - 1) for arg in args}
            return DType.UNKNOWN if DType.UNKNOWN in kinds else promoted(kinds)
        case Applied(callee=callee) if callee.startswith("math.") or callee in {
            "int",
            "float",
            "len",
            "round",
        }:
            return DType.NUMBER
        case Applied(callee=callee):
            last = callee.rpartition(".")[2]
            is_making = (
                callee.startswith("torch.") and not callee.startswith("torch.nn.") and last in CREATING
            )
            return mode.weights if is_making else DType.UNKNOWN
    return DType.UNKNOWN


def is_unknown(held: Held) -> bool:
    """Whether nothing at all is known of a value."""
    return held.dtype is DType.UNKNOWN and held.items is None and isinstance(held.value, Leaf | Part | None)
