"""Arrays of zeros of which only some channels are filled, and pads along the channels.

`out = zeros((3, h, w))` and `out[0] = grey`; `out[ALL.index(name)] = row` for the names of a shorter list;
`F.pad(x, (0, 0, 0, 0, 0, 3 - x.shape[0]))`. An axis is taken for the channels by its number, by the names
around, or where the function asks how many channels its input has.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Function
from stethoscope.program.objective.array_statements import given_values, words_of
from stethoscope.program.objective.filled_channels import CHANNEL_WORDS
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name

# fmt: off
LENGTHS = frozenset({
    "len", "length", "lengths", "longest", "frames", "steps", "time", "seq", "tokens", "batch", "duration",
    "samples", "height", "width", "h", "w",
})
# fmt: on
FEW = 16  # channels; a larger number written out is a length
SPATIAL = 3  # sizes of one picture


@dataclass(frozen=True, slots=True, eq=False)
class Unfilled:
    """Where zeros are made, and where some of their channels get something; the same for a pad."""

    filled: ast.AST
    made: ast.Call


def unfilled_channels(function: Function, is_about_channels: bool) -> Iterator[Unfilled]:
    """Every array of a function that keeps empty channels beside real ones."""
    nodes = own_nodes(function.node)
    pads = [node for node in nodes if isinstance(node, ast.Call) and bare_name(node) == "pad"]
    given = given_values(nodes) if pads else {}
    for pad in pads:
        if _pads_channels(pad, is_about_channels, given):
            yield Unfilled(pad, pad)
    for name, made in _zeros(nodes):
        writes = [
            (target, value)
            for node in nodes
            if isinstance(node, ast.Assign)
            for target, value in _pairs(node)
            if isinstance(target.value, ast.Name) and target.value.id == name
        ]
        if not writes or _is_changed_otherwise(name, nodes) or _is_constant(writes):
            continue
        filled = _partly(made, writes, nodes, is_about_channels)
        if filled is not None:
            yield Unfilled(filled, made)


def asks_for_channels(function: Function) -> bool:
    """Whether a function looks at how many channels it got: `x.ndim == 2`, `x.shape[0] == 1`."""
    for node in own_nodes(function.node):
        match node:
            case ast.Compare(left=left, comparators=[ast.Constant(value=int() as number)]):
                if 1 <= number <= 4 and _counts_channels(left):
                    return True
    return False


def _counts_channels(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr="ndim") | ast.Call(func=ast.Attribute(attr="dim")):
            return True
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=place):
            return ast.unparse(place) in {"0", "-1", "-3", "2"}
        case ast.Call(func=ast.Attribute(attr="size"), args=[place]):
            return ast.unparse(place) in {"0", "-3"}
        case ast.Call(func=ast.Name(id="len"), args=[ast.Attribute(attr="shape")]):
            return True
    return False


# --- pads


def _pads_channels(call: ast.Call, is_about_channels: bool, made: dict[str, list[ast.expr]]) -> bool:
    given = next((k.value for k in call.keywords if k.arg in {"pad", "pad_width"}), None)
    widths = given if given is not None else call.args[1] if len(call.args) > 1 else None
    others = {k.arg: k.value for k in call.keywords}
    mode = others.get("mode", call.args[2] if len(call.args) > 2 else None)
    if mode is not None and getattr(mode, "value", None) != "constant":
        return False
    filling = others.get("value", others.get("constant_values"))
    if filling is not None and getattr(filling, "value", None) != 0:
        return False
    if not isinstance(widths, ast.Tuple | ast.List):
        return False
    amount = _padded_amount(widths.elts)
    if isinstance(amount, ast.Name) and len(made.get(amount.id, [])) == 1:
        amount = made[amount.id][0]
    return amount is not None and _lacks(amount, is_about_channels)


def _padded_amount(widths: Sequence[ast.expr]) -> ast.expr | None:
    """How much a pad adds to the one axis that may be the channels, where it adds to no other."""
    pairs = [one.elts for one in widths if isinstance(one, ast.Tuple | ast.List)]
    if pairs:  # numpy: a pair for each axis
        added = [axis for axis, pair in enumerate(pairs) if any(not _is_zero(one) for one in pair)]
        if len(added) != 1 or len(pairs) < 2 or added[0] not in {0, len(pairs) - 1}:
            return None
        return next((one for one in pairs[added[0]] if not _is_zero(one)), None)
    if len(widths) not in {4, 6}:  # torch: two for each axis, the last axis first
        return None
    amounts = [one for one in widths[-2:] if not _is_zero(one)]
    return amounts[0] if len(amounts) == 1 and all(map(_is_zero, widths[:-2])) else None


def _lacks(amount: ast.expr, is_about_channels: bool) -> bool:
    """`3 - x.shape[0]`, `channels - c`: what is added is what a number of channels lacks."""
    spoken = set(words_of(amount))
    if spoken & CHANNEL_WORDS:
        return True
    if spoken & LENGTHS:
        return False
    match amount:
        case ast.BinOp(left=ast.Constant(value=int() as wanted), op=ast.Sub(), right=right):
            return wanted <= FEW and (_counts_channels(right) or is_about_channels)
        case ast.Constant(value=int() as number):
            return number <= FEW and is_about_channels
    return False


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


# --- zeros


def _zeros(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.Call]]:
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                if bare_name(call) in {"zeros", "new_zeros"} and (call.args or call.keywords):
                    yield name, call


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.Subscript, ast.expr]]:
    for target in node.targets:
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(target.elts, node.value.elts, strict=False))
        yield from ((one, value) for one, value in pairs if isinstance(one, ast.Subscript))


def _is_changed_otherwise(name: str, nodes: Sequence[ast.AST]) -> bool:
    """Whether an array is filled in another way than by writing parts of it."""
    for node in nodes:
        match node:
            case ast.AugAssign(target=ast.Name(id=held) | ast.Subscript(value=ast.Name(id=held))):
                if held == name:
                    return True
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr.endswith("_"):
                if any(getattr(one, "id", "") == name for one in all_nodes(inner)):
                    return True
    return False


def _is_constant(writes: Sequence[tuple[ast.Subscript, ast.expr]]) -> bool:
    """Whether numbers are written somewhere: marks, one-hot labels, masks."""
    return any(isinstance(value, ast.Constant) for _, value in writes)


def _partly(
    made: ast.Call,
    writes: Sequence[tuple[ast.Subscript, ast.expr]],
    nodes: Sequence[ast.AST],
    is_about_channels: bool,
) -> ast.AST | None:
    """The write that fills one part of the channels, where no other fills the rest."""
    sizes = _sizes(made)
    if len(sizes) < 2:
        return None
    found: set[int] = set()
    for target, _ in writes:
        cut = _cut(target, sizes)
        if cut is None:
            return None
        axis, place = cut
        size = sizes[axis]
        count = size.value if isinstance(size, ast.Constant) and isinstance(size.value, int) else None
        spoken = set(words_of(size))
        is_few = count is not None and 2 <= count <= FEW and is_about_channels
        if not (spoken & CHANNEL_WORDS or is_few) or spoken & LENGTHS - {"len"}:
            return None
        match place:
            case ast.Constant(value=int() as at) if count is not None:
                found.add(at % count)
                if len(found) == count:
                    return None
            case ast.Slice(lower=lower, upper=ast.expr() as upper, step=None):
                begins = lower is None or _is_zero(lower)
                if not begins or len(writes) > 1 or ast.unparse(upper) == ast.unparse(size):
                    return None
            case _ if not (len(writes) == 1 and _is_place_in(place, size, nodes, target)):
                return None
    return writes[0][0]


def _cut(target: ast.Subscript, sizes: Sequence[ast.expr]) -> tuple[int, ast.expr] | None:
    """The first axis of one sample of which only a part is written, and the part."""
    places = list(target.slice.elts) if isinstance(target.slice, ast.Tuple) else [target.slice]
    dots = next((i for i, one in enumerate(places) if getattr(one, "value", None) is ...), None)
    starred = [i for i, one in enumerate(sizes) if isinstance(one, ast.Starred)]
    for i, place in enumerate(places):
        is_whole = isinstance(place, ast.Slice) and place.upper is None and place.lower is None
        if i == dots or is_whole:
            continue
        from_end = dots is not None and i > dots
        axis = i - len(places) + len(sizes) if from_end else i
        if not 0 <= axis < len(sizes) or any(one >= axis if from_end else one <= axis for one in starred):
            return None
        if axis == 0 and len(sizes) > SPATIAL and isinstance(place, ast.Name):
            continue  # one sample of a batch
        return axis, place
    return None


def _is_place_in(place: ast.expr, size: ast.expr, nodes: Sequence[ast.AST], target: ast.Subscript) -> bool:
    """Whether a loop writes only some of the places of a list whose length the array has.

    `out[ALL.index(name)] = row` goes over another list than ALL; `if name in found: out[k] = found[name]`
    leaves places out.
    """
    loops = [n for n in nodes if isinstance(n, ast.For) and any(one is target for one in all_nodes(n))]
    over = [ast.unparse(one) for loop in loops for one in all_nodes(loop.iter)]
    match place, size:
        case (
            ast.Call(func=ast.Attribute(value=whole, attr="index")) | ast.Subscript(value=whole),
            ast.Call(func=ast.Name(id="len"), args=[counted]),
        ):
            name = ast.unparse(whole)
            return bool(loops) and name == ast.unparse(counted) and name not in over
        case ast.Name(), ast.Call(func=ast.Name(id="len"), args=[counted]) if ast.unparse(counted) in over:
            return any(_is_left_out(node, target) for loop in loops for node in loop.body)
    return False


def _is_left_out(node: ast.stmt, target: ast.Subscript) -> bool:
    """`if present: out[k] = ...` with nothing else for what is not present."""
    is_inside = isinstance(node, ast.If) and any(one is target for one in all_nodes(node))
    return is_inside and isinstance(node, ast.If) and not node.orelse


def _sizes(zeros: ast.Call) -> list[ast.expr]:
    named = next((k.value for k in zeros.keywords if k.arg in {"size", "shape"}), None)
    first = zeros.args[0] if zeros.args else named
    if isinstance(first, ast.Tuple | ast.List) and len(zeros.args) < SPATIAL:
        return first.elts
    return list(zeros.args)
