"""An option that a program declares."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stethoscope.run import Where


@dataclass(frozen=True, slots=True)
class Option:
    """An option as declared: its name, the sections around it, where, and its default (None where unknown).

    `kind` is "flag", "field", "parameter" (of a function whose parameters are the options), "entry" (of a
    literal dict) or "constant". `origin` names the object that holds it: a file of flags, a class,
    a function.
    """

    name: str
    where: Where
    kind: str
    default: object = None
    sections: tuple[str, ...] = ()
    origin: str = ""


def literal(node: ast.expr | None) -> object:
    """The value of an expression that is written out, or None."""
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
