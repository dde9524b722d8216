"""Pictures that are read with their colours last and are given another shape instead of turned axes.

image = cv2.imread(path)                              height, width, colour
x = torch.from_numpy(image).view(3, height, width)    the same numbers in the same order, cut anew
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.index import Function, Index
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

READING = frozenset({"imread", "imdecode"})
# What puts the colours first, as it should be done, or makes a single channel of them.
TURNING = frozenset({
    "permute", "transpose", "moveaxis", "rollaxis", "movedim", "swapaxes", "einsum", "rearrange", "ToTensor",
    "to_tensor", "pil_to_tensor", "img_to_array", "mean", "split", "stack",
})  # fmt: skip
RESHAPING = frozenset({"reshape", "view"})
COLOURS = 3


@remembered
def reshaped_pictures(index: Index) -> tuple[Site, ...]:
    """Every reshape of a picture that is to put its colours first."""
    return tuple(
        Site(function.source, call)
        for function in index.functions
        if not is_test(function.source)
        for call in _in_function(function)
    )


def _in_function(function: Function) -> Iterator[ast.Call]:
    nodes = sorted(own_nodes(function.node, ast.Assign), key=lambda node: node.lineno)
    reshapes = [one for one in own_nodes(function.node, ast.Call) if bare_name(one) in RESHAPING]
    if not any(_puts_colours_first(one) for one in reshapes):
        return
    for call in reshapes:
        before = [node for node in nodes if node.lineno <= call.lineno and call not in all_nodes(node)]
        pictures = _pictures(before)
        if _puts_colours_first(call) and _reads(call, pictures) and not _turns(call):
            yield call


def _puts_colours_first(call: ast.Call) -> bool:
    """`x.view(3, h, w)`, `np.reshape(x, (1, 3, h, w))`: three dimensions or more, one of them the colours."""
    is_method = not (
        isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") in {"np", "torch"}
    )
    given: Sequence[ast.expr] = call.args if is_method else call.args[1:]
    if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List):
        given = given[0].elts
    numbers = [getattr(one, "value", None) for one in given]
    is_lone = numbers[:1] == [COLOURS]
    is_batched = numbers[:2] == [1, COLOURS]
    whole = len(given) >= COLOURS or any(isinstance(one, ast.Starred) for one in given)
    return whole and (is_lone or is_batched) and numbers[-1:] != [COLOURS]


def _pictures(assigned: Sequence[ast.Assign]) -> set[str]:
    """The names that hold a picture as it is read, with its colours last."""
    found: set[str] = set()
    for node in assigned:
        name = getattr(node.targets[0], "id", "")
        if not name:
            continue
        is_picture = _reads(node.value, found) and not _turns(node.value)
        found.discard(name)
        if is_picture:
            found.add(name)
    return found


def _reads(value: ast.expr, pictures: set[str]) -> bool:
    return any(
        (isinstance(one, ast.Call) and (bare_name(one) in READING or _opens(one)))
        or (isinstance(one, ast.Name) and one.id in pictures)
        for one in all_nodes(value)
    )


def _opens(call: ast.Call) -> bool:
    """`Image.open(path)`: what has no axes to turn before an array is made of it."""
    return bare_name(call) == "open" and ast.unparse(call.func).endswith("Image.open")


def _turns(value: ast.expr) -> bool:
    return any(bare_name(one) in TURNING for one in all_nodes(value, ast.Call))
