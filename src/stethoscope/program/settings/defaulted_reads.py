"""Settings that a program reads with a default for where the file does not say: `cfg.get("lr", 0.1)`.

What is read so may be written into the file, and the program will have it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, text_of
from stethoscope.program.settings.settings_origins import origin_of, statement_of
from stethoscope.run import Where

LOADED = "loaded"


@dataclass(frozen=True, slots=True)
class DefaultedRead:
    """A key of the settings, what stands for it where it is missing, and where it is read."""

    key: tuple[str, ...]
    default: object
    where: Where


@remembered
def defaulted_reads(code: Mentions) -> tuple[DefaultedRead, ...]:
    """Every read with a plain default out of settings that were surely loaded from a file."""
    found = []
    for spot in code.calls.get("get", ()):
        match spot.node:
            case ast.Call(args=[_, ast.Constant(value=default)], keywords=[]) as call:
                way = way_to(call)
                if way is None:
                    continue
                holder, key = way
                origin = origin_of(holder, key, statement_of(call, code), spot.source, code)
                if origin == LOADED:
                    found.append(DefaultedRead(key, default, Where(spot.source.file, call.lineno)))
    return tuple(found)


def way_to(node: ast.expr) -> tuple[str, tuple[str, ...]] | None:
    """The variable and the names behind it: `cfg["optim"].get("lr", 0.1)` is cfg, (optim, lr)."""
    match node:
        case ast.Name(id=name):
            return name, ()
        case ast.Call(func=ast.Attribute(value=base, attr="get"), args=[key, *_], keywords=[]):
            part = text_of(key)
        case ast.Subscript(value=base, slice=key):
            part = text_of(key)
        case ast.Attribute(value=base, attr=part):
            pass
        case _:
            return None
    above = way_to(base)
    return (above[0], (*above[1], part)) if above is not None and part is not None else None
