"""Whether a gradient scaler works while autocast is bfloat16, by the switch it was made with.

A switch that asks about the device or about mixed precision as a whole is on wherever it matters. One that
asks about the type of numbers is worked out; where it names float16 and cannot be, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.precision.autocast import DType, named_dtype
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    Leaf,
    Outside,
    Part,
    Value,
    inputs,
)

DEEPEST = 8  # values looked through for a word about float16
SAME = frozenset({"==", "is"})
OTHER = frozenset({"!=", "is not"})
HALF_WORDS = ("float16", "fp16", "half")


def is_on_under_bfloat16(switch: Value | None) -> bool | None:
    """Whether the switch is on where autocast is bfloat16; None where that cannot be told."""
    match switch:
        case None:
            return True
        case Constant(value=value):
            return bool(value)
        case Choice(options=options):
            found = {is_on_under_bfloat16(option) for option in options}
            return found.pop() if len(found) == 1 else None
        case Applied(callee="not", args=[inner]):
            inside = is_on_under_bfloat16(inner)
            return None if inside is None else not inside
        case Applied(callee="and" | "or" as word, args=parts):
            return _together(word, [is_on_under_bfloat16(part) for part in parts])
        case Applied(callee=callee, args=[left, right]) if callee in SAME | OTHER:
            same = _are_same_type(left, right)
            if same is not None:
                return same == (callee in SAME)
    return None if _speaks_of_float16(switch) else True


def _together(word: str, parts: list[bool | None]) -> bool | None:
    decisive = word == "or"
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive


def _are_same_type(left: Value, right: Value) -> bool | None:
    """Whether two types are one; None where one of them is not known."""
    kinds = [_type(left), _type(right)]
    if None in kinds:
        return None
    return kinds[0] == kinds[1]


def _type(value: Value) -> DType | str | None:
    dtype = named_dtype(value)
    if dtype is not None:
        return dtype
    return "none" if isinstance(value, Constant) and value.value is None else None


def _speaks_of_float16(value: Value) -> bool:
    return any(
        half in word.lower() for word in _words(value) for half in HALF_WORDS if "bf" not in word.lower()
    )


def _words(value: Value) -> Iterator[str]:
    """The names that a switch is made of."""
    waiting = [(value, 0)]
    while waiting:
        current, depth = waiting.pop()
        match current:
            case Outside(name=name) | Leaf(name=name):
                yield name
            case Constant(value=known, setting=setting):
                yield f"{known} {setting}"
            case Part(key=key):
                yield str(key)
            case Delayed():
                yield getattr(getattr(current.callee, "function", None), "name", "float16")
        if depth < DEEPEST:
            waiting.extend((one, depth + 1) for one in inputs(current))
