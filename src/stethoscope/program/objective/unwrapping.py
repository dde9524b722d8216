"""Taking a call out of an expression: `softmax(x, dim=1)` becomes `x`."""

from __future__ import annotations

import ast

from stethoscope.program.walk.values import Site, span_of
from stethoscope.run import Fix, Level, Splice

SIMPLE = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Constant


def without_call(site: Site, title: str, level: Level = Level.UNSAFE) -> Fix | None:
    """The fix that replaces a call by its first argument or by the object it is a method of."""
    node = site.node
    if not isinstance(node, ast.Call) or site.span is None:
        return None
    inner = _wrapped(node)
    span = span_of(site.source, inner) if inner is not None else None
    if inner is None or span is None:
        return None
    text = site.source.text[span[0] : span[1]]
    if not isinstance(inner, SIMPLE):
        text = f"({text})"
    return Fix(title, level, (Splice(site.source.file, site.span[0], site.span[1], text),))


def _wrapped(call: ast.Call) -> ast.expr | None:
    """What a call is about: its first argument, else the tensor it is a method of."""
    if call.args and not isinstance(call.args[0], ast.Starred) and not _is_tensor_method(call):
        return call.args[0]
    if isinstance(call.func, ast.Attribute) and _is_tensor_method(call):
        return call.func.value
    return None


def _is_tensor_method(call: ast.Call) -> bool:
    """`x.softmax(1)` rather than `F.softmax(x, 1)`: its arguments are numbers or none."""
    if not isinstance(call.func, ast.Attribute):
        return False
    numbers = all(isinstance(arg, ast.Constant | ast.UnaryOp) for arg in call.args)
    return numbers and all(keyword.arg in {"dim", "dtype"} for keyword in call.keywords)
