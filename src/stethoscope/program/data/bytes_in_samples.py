"""Differences of bytes in the making of samples, which wrap around at zero: 3 - 5 is 254."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.sample_functions import sample_functions
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.values import Site

CASTING = frozenset({"astype", "to", "type", "view"})
READING = frozenset({"imread", "read_image", "decode_jpeg", "imdecode", "get_batch", "read_video"})
# What leaves the type of an array as it is.
KEEPING = frozenset({
    "copy", "resize", "transpose", "permute", "squeeze", "unsqueeze", "reshape", "flip", "crop", "cvtColor",
    "array", "asarray", "asnumpy", "numpy", "ascontiguousarray", "contiguous", "stack",
    "from_numpy", "roll", "clone",
})  # fmt: skip
MASKS = frozenset({"mask", "masks", "label", "labels", "seg", "edge", "edges", "eroded", "dilated"})


@remembered
def bytes_in_samples(index: Index) -> tuple[Site, ...]:
    """Every difference of two arrays of bytes in a function that makes samples."""
    return tuple(site for function in sample_functions(index) for site in _in_function(function))


def _in_function(function: Function) -> Iterator[Site]:
    held: dict[str, bool] = {}
    nodes = [one for one in own_nodes(function.node) if isinstance(one, ast.Assign | ast.BinOp)]
    for node in sorted(nodes, key=lambda one: (one.lineno, not isinstance(one, ast.BinOp))):
        match node:
            case ast.BinOp(op=ast.Sub(), left=left, right=right):
                spoken = {word for side in (left, right) for word in words(_name(side))}
                if not spoken & MASKS and _are_bytes(left, held) and _are_bytes(right, held):
                    yield Site(function.source, node)
                    return
            case ast.Assign(targets=[target], value=value):
                held[dotted(target) or ""] = _are_bytes(value, held)


def _name(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return dotted(node) or ""


def _are_bytes(node: ast.expr, held: dict[str, bool]) -> bool:
    """Whether an expression is known to give an array of bytes."""
    match node:
        case ast.Subscript(value=inner):
            return _are_bytes(inner, held)
        case ast.Name() | ast.Attribute():
            return held.get(dotted(node) or "", False)
        case ast.Call():
            return _call_gives_bytes(node, held)
    return False


def _call_gives_bytes(call: ast.Call, held: dict[str, bool]) -> bool:
    name, text = bare_name(call), ast.unparse(call)
    dtype = next((ast.unparse(word.value) for word in call.keywords if word.arg == "dtype"), "")
    if dtype:
        return "uint8" in dtype
    if name in CASTING:
        return bool(call.args) and "uint8" in ast.unparse(call.args[0])
    if name in READING or text.startswith(("np.array(Image.open(", "np.asarray(Image.open(")):
        return True
    if name not in KEEPING:
        return False
    is_of_module = isinstance(call.func, ast.Attribute) and dotted(call.func.value) in {
        "np",
        "numpy",
        "torch",
        "cv2",
    }
    holder = call.func.value if isinstance(call.func, ast.Attribute) and not is_of_module else None
    inner = holder if holder is not None else call.args[0] if call.args else None
    return inner is not None and _are_bytes(inner, held)
