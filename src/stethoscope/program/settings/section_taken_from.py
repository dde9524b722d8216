"""Out of which section of the settings something is taken, where the code says so."""

from __future__ import annotations

import ast

from stethoscope.program.settings.mentions import Mentions, Spot, text_of

HOPS = 3  # variables between a section and what is taken out of it


def section_taken_from(taken: Spot, code: Mentions) -> str | None:
    """The section by name: `cfg["edge"]["weight"]` is taken from edge; so is `e.weight` of `e = cfg.edge`."""
    return _name(_base(taken.node), code, HOPS)


def _base(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Attribute(value=base) | ast.Subscript(value=base):
            return base
        case ast.Call(func=ast.Attribute(value=base, attr="get" | "pop")):
            return base
    return None


def _name(base: ast.expr | None, code: Mentions, left: int) -> str | None:
    match base:
        case ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=key):
            return text_of(key)
        case ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]):
            return text_of(key)
        case ast.Name(id=name) if left:
            # A variable is a section where everything that it is given in its scope is the same one.
            scope = code.scope_of(base)
            given = [spot for spot in code.given.get(name, ()) if code.scope_of(spot.node) is scope]
            found = {_name(spot.node, code, left - 1) for spot in given}
            return found.pop() if len(found) == 1 else None
    return None
