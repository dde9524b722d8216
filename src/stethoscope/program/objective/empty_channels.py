"""Pictures that are widened by channels of zeros, as many as they lack."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.ingredients import peeled
from stethoscope.program.objective.filled_channels import fills_channels
from stethoscope.program.objective.zeros import is_nothing, is_zero, is_zeros
from stethoscope.program.walk.values import Applied, Constant, Items, Value

JOINING = frozenset({"cat", "concat", "concatenate"})


def pads_channels(value: Applied) -> bool:
    """`cat([image, zeros], dim=0)`, `pad(image, (0, 0, 0, 0, 0, 3))`: channels that hold nothing."""
    last = value.callee.rpartition(".")[2]
    if last == "pad":
        return pads_first_axis(value)
    if value.callee == "[]=":
        return fills_some_channels(value)
    if last not in JOINING or not value.args:
        return False
    joined = value.args[0].items if isinstance(value.args[0], Items) else []
    dim = value.keywords.get(
        "dim", value.keywords.get("axis", value.args[1] if len(value.args) > 1 else None)
    )
    along = dim.value if isinstance(dim, Constant) else 0 if dim is None else None
    zeros = [one for one in joined if is_zeros(peeled(one))]
    return along in {0, 1, -3} and bool(zeros) and len(zeros) < len(joined)


def lacks_channels(value: Applied) -> bool:
    """`cat([x, zeros(n, wanted - c, h, w)], dim=1)`."""
    if value.callee.rpartition(".")[2] not in JOINING or not pads_channels(value):
        return False
    joined = value.args[0].items if isinstance(value.args[0], Items) else []
    zeros = [one for one in map(peeled, joined) if isinstance(one, Applied) and is_zeros(one)]
    for one in zeros:
        given = one.args[1:] if one.callee == ".new_zeros" else one.args
        sizes = [size for arg in given for size in flattened(arg)]
        if len(sizes) > 2 and any(isinstance(size, Applied) and size.callee == "-" for size in sizes[:2]):
            return True
    return False


def fills_some_channels(value: Applied) -> bool:
    """`image[:channels] = grey` in a picture of zeros; a number that is written there marks what is real."""
    base, key, filling = value.args[0], value.args[1], value.args[2]
    if not (isinstance(base, Applied) and base.callee.rpartition(".")[2] in {"zeros", "new_zeros"}):
        return False
    if isinstance(filling, Constant):
        return False
    made, written = base.site.node, _subscript(value.site.node)
    if isinstance(made, ast.Call) and written is not None and fills_channels(made, written):
        return True
    sizes = base.args[0].items if len(base.args) == 1 and isinstance(base.args[0], Items) else base.args
    is_part = isinstance(key, Applied) and key.callee == "slice" and not is_nothing(key.args[1])
    return len(sizes) == 3 and is_part


def _subscript(node: ast.AST) -> ast.Subscript | None:
    """What a statement writes to, where that is one part of an array."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        node = node.targets[0]
    return node if isinstance(node, ast.Subscript) else None


def pads_first_axis(value: Applied) -> bool:
    """Whether a pad leaves height and width alone and fills the axis before them with zeros."""
    mode = value.keywords.get("mode", value.args[2] if len(value.args) > 2 else None)
    if mode is not None and not (isinstance(mode, Constant) and mode.value == "constant"):
        return False
    given = value.keywords.get("pad", value.keywords.get("pad_width"))
    widths = given if given is not None else value.args[1] if len(value.args) > 1 else None
    if not isinstance(widths, Items) or "value" in value.keywords:
        return False
    if (
        all(isinstance(pair, Items) for pair in widths.items) and len(widths.items) == 3
    ):  # numpy, first axis first
        empty = [_is_empty(pair) for pair in widths.items]
        return empty in ([False, True, True], [True, True, False])
    return (
        len(widths.items) == 6
        and all(map(is_zero, widths.items[:4]))
        and not _is_empty(Items(widths.items[4:]))
    )


def _is_empty(pair: Value) -> bool:
    return isinstance(pair, Items) and all(map(is_zero, pair.items))


def flattened(value: Value) -> Iterator[Value]:
    """The values inside lists of lists."""
    if isinstance(value, Items):
        for item in value.items:
            yield from flattened(item)
    else:
        yield value
