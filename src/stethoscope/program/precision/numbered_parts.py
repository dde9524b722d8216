"""Parts that are reached by a number in their name: `getattr(self, f"norm{i}")`, `for i in range(3)`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stethoscope.program.precision.autocast import DType
from stethoscope.program.precision.tensor_types import Held
from stethoscope.program.walk.values import Choice, Constant, Instance, Site, Value, choice

if TYPE_CHECKING:
    from stethoscope.program.precision.dtype_frames import TypeFrame

MOST_ROUNDS = 8  # numbers that a loop is followed with


def counted(args: Sequence[Held]) -> Held | None:
    """The numbers of a short `range`; None where it is long or not known."""
    bounds = [held.value.value if isinstance(held.value, Constant) else None for held in args]
    known = [bound for bound in bounds if isinstance(bound, int) and not isinstance(bound, bool)]
    if not known or len(known) != len(bounds) or len(known) > 3 or (len(known) == 3 and not known[2]):
        return None
    numbers = range(*known)
    if not 0 < len(numbers) <= MOST_ROUNDS:
        return None
    return Held(items=tuple(Held(DType.NUMBER, value=Constant(number)) for number in numbers))


def written(frame: TypeFrame, node: ast.JoinedStr) -> Constant | None:
    """The text of an f-string whose parts are all known."""
    parts: list[str] = []
    for part in node.values:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        value = frame.evaluate(inner).value
        if not isinstance(value, Constant) or (isinstance(part, ast.FormattedValue) and part.format_spec):
            return None
        parts.append(str(value.value))
    return Constant("".join(parts))


def part_named(frame: TypeFrame, node: ast.Call, args: Sequence[Held]) -> Value | None:
    """What `getattr(net, name)` gives: under a name that begins so, where its number is not known."""
    if len(args) < 2 or not isinstance(args[0].value, Instance | Choice):
        return None
    owner, name = args[0].value, args[1].value
    site = Site(frame.module.source, node)
    if isinstance(name, Constant) and isinstance(name.value, str):
        return frame.flow.attribute(owner, name.value, site)
    match node.args[1]:
        case ast.JoinedStr(values=[ast.Constant(value=str() as begin), *_]) if isinstance(owner, Instance):
            frame.flow.attribute(owner, begin, site)  # its parts are looked into
            found = [one for key, one in owner.attributes.items() if key.startswith(begin)]
            return choice(*found[:MOST_ROUNDS]) if found else None
    return None
