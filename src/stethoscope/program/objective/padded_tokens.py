"""Calls that put pads among labels or tokens, what they fill them with, and what takes them out again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from stethoscope.program.data.batches import is_loader
from stethoscope.program.data.ingredients import ingredients, peeled
from stethoscope.program.objective.empty_channels import JOINING, fills_some_channels, flattened
from stethoscope.program.objective.loss_masks import is_comparison, names_mask
from stethoscope.program.objective.zeros import is_below_zero, is_nothing, is_zero, is_zeros
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Choice, Constant, Items, Leaf, Part, Value, inputs

PAD = re.compile(r"(?<![a-z])pad", re.IGNORECASE)
MARKED_NAME = re.compile(r"ignor|label", re.IGNORECASE)
IGNORED = -100  # what a cross entropy ignores where it is not told otherwise
MAKING_TENSORS = frozenset(
    {"tensor", "as_tensor", "from_numpy", "LongTensor", "FloatTensor", "array", "asarray", "list"}
)
# What they are given is a shape, and none of its numbers.
LIKE = frozenset(
    {"full_like", "zeros_like", "ones_like", "empty_like", "new_full", "new_zeros", "new_ones", "new_empty"}
)
SETTING = frozenset({"where", "masked_fill", "masked_fill_", "[]="})


def pads(run: Execution, value: Value) -> Iterator[Applied]:
    """The calls that put pads into labels."""
    for one in ingredients(run, value, leading=unless_taken_out):
        if isinstance(one, Applied) and (pads_tokens(one) or _sets_pads(one)):
            yield one


def pads_tokens(value: Applied) -> bool:
    """`pad_sequence(...)`, `full(size, PAD)`, `pad(..., value=pad_id)`, `[pad] * n`, a padding tokenizer."""
    last = value.callee.rpartition(".")[2]
    if last == "pad_sequence":
        filler = value.keywords.get("padding_value", value.args[2] if len(value.args) > 2 else Constant(0))
        return not is_below_zero(filler)
    named = bool(PAD.search(value.site.text.partition("(")[2] or value.site.text))
    if last in {"full", "full_like", "new_full", "fill_"}:
        return named
    if last in {"pad", *JOINING} and _fills_gap(value):
        return True
    if last == "pad" and value.callee != ".pad":
        return "value" in value.keywords and bool(PAD.search(value.site.text.rpartition("value")[2]))
    if value.callee == "[]=":
        return _fills_rows(value)
    padding = value.keywords.get("padding")
    if isinstance(padding, Constant) and (
        padding.value is True or padding.value in {"max_length", "longest"}
    ):
        return bool(value.keywords.keys() & {"truncation", "max_length", "return_tensors"})
    return value.callee == "*" and _repeats_pad(value)


def _sets_pads(value: Applied) -> bool:
    """`torch.where(seen, labels, PAD)`, `labels.masked_fill(hidden, pad_id)`, `labels[hidden] = PAD`."""
    fill = filler_of(value) if value.callee.rpartition(".")[2] in SETTING else None
    node = value.site.node
    given = node.args if isinstance(node, ast.Call) else [getattr(node, "value", None)]
    named = any(isinstance(one, ast.Name | ast.Attribute) and PAD.search(ast.unparse(one)) for one in given)
    is_number = (
        isinstance(fill, Constant) and isinstance(fill.value, int) and not isinstance(fill.value, bool)
    )
    return named and (is_number or isinstance(fill, Leaf | Part)) and not (fill and is_below_zero(fill))


def filler_of(value: Applied) -> Value | None:
    """What a call fills its pads with."""
    last, args = value.callee.rpartition(".")[2], value.args
    match last:
        case "pad_sequence":
            return value.keywords.get("padding_value", args[2] if len(args) > 2 else Constant(0))
        case "full" | "full_like" | "new_full" | "masked_fill" | "masked_fill_":
            named = value.keywords.get("fill_value", value.keywords.get("value"))
            place = {"full": 1, "full_like": 1}.get(last, 2)
            return named if named is not None else args[place] if len(args) > place else None
        case "fill_" if len(args) > 1:
            return args[1]
        case "pad":
            return value.keywords.get("value", value.keywords.get("constant_values", Constant(0)))
        case "cat" | "concat" | "concatenate":
            return Constant(0)
        case "where" if len(args) > 2:
            plain = [arg for arg in args[1:] if isinstance(arg, Constant | Leaf)]
            return plain[0] if plain else None
        case "[]=" if len(args) > 2:
            return Constant(0) if _fills_rows(value) else args[2]
        case "*":
            lists = [arg for arg in args if isinstance(arg, Items) and len(arg.items) == 1]
            return lists[0].items[0] if lists else None
    return None


def is_ignored(fill: Value | None, ignored: Value | None) -> bool:
    """Whether pads of this number are left out by `ignore_index`, or may be."""
    ignored = Constant(IGNORED) if ignored is None else ignored
    if fill is ignored or fill is None:
        return True
    if isinstance(fill, Constant) and isinstance(ignored, Constant):
        return fill.value == ignored.value
    name = fill.name if isinstance(fill, Leaf) else fill.key if isinstance(fill, Part) else ""
    # The id of a pad that is not known is a place in the vocabulary, which is never below zero.
    is_id = isinstance(name, str) and bool(PAD.search(name)) and not MARKED_NAME.search(name)
    return not (is_id and is_below_zero(ignored))


def unless_taken_out(value: Value) -> Iterable[Value]:
    """`labels[ids == PAD] = -100` and the like take the pads below them out of the loss.

    What is only asked, as in `where(ids != PAD, ...)`, puts no pads into a value.
    """
    if is_loader(value) or (isinstance(value, Choice) and any(map(is_below_zero, value.options))):
        return ()
    if isinstance(value, Applied):
        if is_comparison(value):
            return ()
        last = value.callee.rpartition(".")[2]
        if last in LIKE:
            return value.args[1:]
        fills = {"[]=": value.args[2:], "where": value.args[1:]}.get(last, ())
        if last in {"masked_fill", "masked_fill_"}:
            fills = value.args[2:] or tuple(value.keywords.values())
        if any(is_below_zero(fill) for fill in fills):
            return ()
        if last == "where" and len(value.args) > 2:
            return value.args[1:]
        if last in {"masked_fill", "masked_fill_"}:
            return value.args[:1]
        if last == "masked_select" or (value.callee == "[]" and _picks(value.args[1])):
            return ()
    return inputs(value)


def _picks(key: Value) -> bool:
    """Whether a key picks some values by a mask: `labels[labels != PAD]`, `labels[keep]`."""
    key = peeled(key)
    if isinstance(key, Items | Constant) or (isinstance(key, Applied) and key.callee == "slice"):
        return False
    is_asked = isinstance(key, Applied) and (is_comparison(key) or key.callee in {"~", "&", "|", "invert"})
    return is_asked or names_mask(key)


def _repeats_pad(value: Applied) -> bool:
    """`[pad_id] * missing`: a list that speaks of padding, of numbers that a loss does not leave out."""
    node = value.site.node
    if not isinstance(node, ast.BinOp) or not any(isinstance(arg, Items) for arg in value.args):
        return False
    held = [item for arg in value.args if isinstance(arg, Items) for item in arg.items]
    if _is_gap(value) and held and all(isinstance(item, Constant) for item in held):
        return not any(map(is_below_zero, held))
    lists = [side for side in (node.left, node.right) if isinstance(side, ast.List | ast.Tuple)]
    return not any(map(is_below_zero, held)) and any(PAD.search(ast.unparse(one)) for one in lists)


def _is_gap(value: Applied) -> bool:
    """`[filler] * (longest - len(row))`: as often as a row is short of the longest."""
    counts = [arg for arg in value.args if isinstance(arg, Applied) and arg.callee == "-"]
    lengths = [count.args[1] for count in counts if len(count.args) == 2]
    return any(
        isinstance(length, Applied) and length.callee == "len" and _is_of_row(length) for length in lengths
    )


def _is_of_row(length: Applied) -> bool:
    """Whether a length is of a row: `len(x.shape)` counts the axes."""
    of = length.args[0] if length.args else None
    return not (isinstance(of, Part) and of.key == "shape")


def _fills_rows(value: Applied) -> bool:
    """`ids[i, :len(row)] = row` in a tensor of zeros: integers, or a row up to its own length."""
    base, key = value.args[0], value.args[1]
    while isinstance(base, Applied) and base.callee == "[]=":
        base = base.args[0]
    if not (isinstance(base, Applied) and base.callee.rpartition(".")[2] in {"zeros", "new_zeros"}):
        return False
    is_whole = re.search(r"\blong\b|\bint(?:32|64)?\b", base.site.text) is not None
    bounds = [one for one in (key.items if isinstance(key, Items) else [key]) if isinstance(one, Applied)]
    slices = [one.args for one in bounds if one.callee == "slice"]
    begins = all(is_nothing(start) or is_zero(start) for start, *_ in slices)
    # A region of a picture that gets the number of its class is no row.
    is_row = begins and len(slices) == 1 and not isinstance(value.args[2], Constant)
    if not is_row or isinstance(slices[0][1], Constant):
        return False
    is_to_longest = any(map(_is_largest, (size for arg in base.args for size in flattened(arg))))
    is_up_to_length = is_to_longest or _is_length_of(slices[0][1], value.args[2])
    return is_whole or (is_up_to_length and not fills_some_channels(value))


def _is_largest(size: Value) -> bool:
    """`max(lengths)`, `lengths.max()`."""
    size = peeled(size)
    if isinstance(size, Applied) and size.callee in {"int", ".item"} and size.args:
        size = size.args[0]
    return isinstance(size, Applied) and size.callee.rpartition(".")[2] in {"max", "amax"}


def _fills_gap(value: Applied) -> bool:
    """`pad(row, (0, longest - len(row)))`, `cat([row, zeros(longest - len(row))])`: not with marks."""
    first = value.args[0] if value.args else None
    if value.callee.rpartition(".")[2] in JOINING:
        joined = first.items if isinstance(first, Items) else []
        zeros = [one for one in joined if isinstance(one, Applied) and is_zeros(one)]
        sizes = [size for one in zeros for arg in one.args for size in flattened(arg)]
        rows = [one for one in joined if not any(one is other for other in zeros)]
    else:
        fill = value.keywords.get("value", value.keywords.get("constant_values"))
        if fill is not None and is_below_zero(fill):
            return False
        sizes = list(flattened(value.args[1])) if len(value.args) > 1 else []
        rows = [first] if first is not None else []
    gaps = [size.args[1] for size in sizes if isinstance(size, Applied) and size.callee == "-"]
    return any(_is_length_of(gap, row) for gap in gaps for row in rows)


def _is_length_of(end: Value, row: Value) -> bool:
    """`len(row)`, `row.shape[0]`, `row.size(0)`."""
    match end:
        case Applied(callee="len" | ".size", args=[of, *_]):
            return _row(of) is _row(row)
        case Part(base=Part(base=of, key="shape"), key=0):
            return _row(of) is _row(row)
    return False


def _row(value: Value) -> Value:
    """What a row is made from: `torch.tensor(row)` has the length of the row."""
    value = peeled(value)
    while isinstance(value, Applied) and value.args and value.callee.rpartition(".")[2] in MAKING_TENSORS:
        value = peeled(value.args[0])
    return value
