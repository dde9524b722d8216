"""Channels that a data set makes up: filled with zeros, or copied from another one with noise of their own.

This is read off the functions that make samples, statement by statement, where no network and no loss has to
be followed: the code that joins channels says by its names and shapes that it joins channels.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.sample_functions import sample_functions
from stethoscope.program.data.unfilled_channels import asks_for_channels, unfilled_channels
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.array_statements import (
    axis_of,
    changed_in,
    given_values,
    is_drawn_like,
    words_of,
)
from stethoscope.program.objective.filled_channels import CHANNEL_WORDS, FEWER_WORDS, fills_channels
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.values import Site

# fmt: off
# Zeros that say something by themselves, and names under which code keeps which channels are real.
MEANT = frozenset({
    "mask", "masks", "alpha", "condition", "cond", "coords", "flow", "onehot", "hint", "label", "labels",
    "target", "targets",
})
TELLING = frozenset({"valid", "present", "presence", "available", "observed"})
COUNTED = frozenset({"channel", "channels"})  # said beside a sample
LENGTHS = frozenset({"len", "length", "max", "frames", "steps", "time", "seq", "tokens", "batch", "pad"})
JOINS = frozenset({"cat", "concat", "concatenate", "stack", "vstack", "hstack", "dstack", "merge"})
DRAWS = frozenset({"randn_like", "rand_like", "randn", "normal", "standard_normal", "rand"})
# fmt: on
CHANNEL_AXES = frozenset({None, 0, 1, -3})
SPATIAL = 3  # sizes of one picture: channels, height, width


@dataclass(frozen=True, slots=True, eq=False)
class MadeChannels:
    """Where channels are joined to real ones, and where what they hold is made."""

    joined: Site
    made: Site


@remembered
def empty_channels(index: Index) -> tuple[MadeChannels, ...]:
    """Every place where samples get channels of zeros beside real ones."""
    telling = ("zeros", "pad(", "merge(")
    makers = (one for one in sample_functions(index) if any(word in one.source.text for word in telling))
    found: dict[int, MadeChannels] = {}
    for function in makers:
        for one in _filled(function):
            found.setdefault(id(one.made.node), one)
    return tuple(found.values())


@remembered
def noisy_channels(index: Index) -> tuple[MadeChannels, ...]:
    """Every place where samples get channels that are copies of one, each with noise of its own."""
    makers = (f for f in sample_functions(index) if any(draw in f.source.text for draw in DRAWS))
    return tuple(found for function in makers for found in _copied(function))


# --- zeros


def _filled(function: Function) -> Iterator[MadeChannels]:
    spoken = _spoken(function)
    if spoken & TELLING or _tells_which(function):
        return
    is_about_channels = bool(spoken & (CHANNEL_WORDS | FEWER_WORDS)) or asks_for_channels(function)
    given = given_values(own_nodes(function.node))
    for join in _joins(function):
        parts = _parts(join.args[-1] if bare_name(join) == "merge" else join.args[0])
        zeros = [zero for part in parts if (zero := _zeros(part, given)) is not None]
        # Two along the last axis are the parts of a complex number.
        is_last = axis_of(join) in {-1, 2} and len(parts) > 2 and is_about_channels
        is_along = bare_name(join) == "merge" or axis_of(join) in CHANNEL_AXES or is_last
        if not zeros or len(zeros) == len(parts) or not is_along:
            continue
        kept = [part for part in parts if _zeros(part, given) is None]
        if any(MEANT.intersection(words_of(part)) for part in parts):
            continue
        if any(_adds_channels(zero, join, kept, is_about_channels) for zero in zeros):
            yield MadeChannels(Site(function.source, join), Site(function.source, zeros[0]))
    written = list(_written(function))
    for target, value in written:
        if sum(ast.unparse(other.value) == ast.unparse(target.value) for other, _ in written) > 1:
            continue  # the rest is filled by another statement
        zeros_made = _zeros(target.value, given)
        if zeros_made is None or isinstance(value, ast.Constant) or bare_name(zeros_made) == "zeros_like":
            continue
        if MEANT.intersection(words_of(target.value)) or not fills_channels(zeros_made, target):
            continue
        yield MadeChannels(Site(function.source, target), Site(function.source, zeros_made))
    for one in unfilled_channels(function, is_about_channels):
        if not MEANT.intersection(_targets(one.filled, one.made, function)):
            yield MadeChannels(Site(function.source, one.filled), Site(function.source, one.made))


def _tells_which(function: Function) -> bool:
    """Whether a sample says which of its channels are real.

    `{"image": image, "channels": count}`; `return image, arange(wanted) < len(found)`;
    `return image, len(found)`.
    """
    given = given_values(own_nodes(function.node))
    for returned in own_nodes(function.node, ast.Return):
        for one in returned.value.elts if isinstance(returned.value, ast.Tuple) else ():
            held = given.get(one.id, [one])[-1] if isinstance(one, ast.Name) else one
            called = {bare_name(call) for call in all_nodes(held, ast.Call)}
            if isinstance(held, ast.Compare) and "arange" in called:
                return True
            if isinstance(held, ast.Call) and called == {"len"}:
                return True
    for node in own_nodes(function.node):
        keys = node.keys if isinstance(node, ast.Dict) else []
        told = [str(key.value) for key in keys if isinstance(key, ast.Constant)]
        if len(told) > 1 and any(COUNTED.intersection(words(name)) for name in told):
            return True
    return False


def _targets(filled: ast.AST, made: ast.Call, function: Function) -> set[str]:
    """The words of what is filled, and of what gets its name from it."""
    named = set(words_of(filled.value)) if isinstance(filled, ast.Subscript) else set()
    for node in own_nodes(function.node):
        if isinstance(node, ast.Assign) and node.value is made:
            named |= {word for target in node.targets for word in words_of(target)}
    return named


def _parts(row: ast.expr) -> list[ast.expr]:
    """The parts of a list that is joined: `[x, zeros]`, `[x] + [zeros] * 2`."""
    match row:
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return list(elts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [*_parts(left), *_parts(right)]
        case ast.BinOp(left=left, op=ast.Mult()):
            return _parts(left)
    return []


def _written(function: Function) -> Iterator[tuple[ast.Subscript, ast.expr]]:
    """What is written into part of an array, and where: `out[:n] = x`."""
    for node in own_nodes(function.node):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                yield from ((one, value) for one, value in pairs if isinstance(one, ast.Subscript))


def _zeros(node: ast.expr, given: dict[str, list[ast.expr]]) -> ast.Call | None:
    """The call that makes zeros: `torch.zeros(...)`, `x.new_zeros(...)`, `np.zeros_like(x)`."""
    if isinstance(node, ast.Name):
        made = given.get(node.id, [])
        return _zeros(made[0], {}) if len(made) == 1 else None
    if not isinstance(node, ast.Call):
        return None
    name = bare_name(node)
    is_black = name == "new" and len(node.args) == 2 and getattr(node.args[0], "value", "") == "L"  # PIL
    return node if (name in {"zeros", "new_zeros", "zeros_like"} and node.args) or is_black else None


def _adds_channels(zeros: ast.Call, join: ast.Call, kept: list[ast.expr], is_about_channels: bool) -> bool:
    """Whether zeros fill up channels: as many as a number of channels lacks, in the shape of the rest."""
    name = bare_name(zeros)
    if name == "new":
        return True
    if name == "zeros_like":
        like = ast.unparse(zeros.args[0])
        return is_about_channels and any(ast.unparse(part) == like for part in kept)
    sizes = zeros.args[0].elts if isinstance(zeros.args[0], ast.Tuple | ast.List) else zeros.args
    if len(sizes) < 2:
        return False  # a row of numbers has no channels
    count = set(words_of(_joined_size(join, sizes)))
    if count & CHANNEL_WORDS:
        return True
    in_shape = len(sizes) == SPATIAL or any(isinstance(size, ast.Starred) for size in sizes[1:])
    return in_shape and is_about_channels and not count & LENGTHS


def _joined_size(join: ast.Call, sizes: Sequence[ast.expr]) -> ast.expr:
    """How long zeros are along the axis that they are joined along: the first, where it is not known."""
    axis = axis_of(join) if bare_name(join) in {"cat", "concat", "concatenate"} else None
    if not isinstance(axis, int) or not -len(sizes) <= axis < len(sizes):
        return sizes[0]
    before = sizes[: axis + 1] if axis >= 0 else sizes[axis:]
    return sizes[0] if any(isinstance(size, ast.Starred) for size in before) else sizes[axis]


# --- copies


def _copied(function: Function) -> Iterator[MadeChannels]:
    given = given_values(own_nodes(function.node))
    spoken = _spoken(function)
    for node in own_nodes(function.node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for copies, noise in ((node.left, node.right), (node.right, node.left)):
                repeated = _repeated(copies, given)
                if repeated is not None and is_drawn_like(noise, copies, DRAWS):
                    yield MadeChannels(Site(function.source, repeated), Site(function.source, node))
    if spoken & CHANNEL_WORDS:
        yield from _gathered(function)


def _repeated(node: ast.expr, given: dict[str, list[ast.expr]]) -> ast.Call | None:
    """The call that repeats one channel: `x[-1:].repeat(n, 1, 1)` with a computed number of copies."""
    if isinstance(node, ast.Name):  # `copies = copies + noise` is the same copies still
        made = [one for one in given.get(node.id, []) if node.id not in _names_in(one)]
        return _repeated(made[0], {}) if len(made) == 1 else None
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    if node.func.attr not in {"repeat", "expand", "tile"} or len(node.args) not in {SPATIAL, SPATIAL + 1}:
        return None
    if is_written_out(node):
        return None
    count, *rest = node.args[-SPATIAL:]
    around = [*node.args[:-SPATIAL], *rest]
    ones = all(getattr(size, "value", None) == 1 or ast.unparse(size) == "-1" for size in around)
    if not ones or getattr(count, "value", None) == 1 or ast.unparse(count) == "-1":
        return None
    return node


def is_written_out(copies: ast.Call) -> bool:
    """`torch.tensor([[0, 0], [width, 0]]).expand(n, -1, -1)`: places that are given, and no data."""
    base = copies.func.value if isinstance(copies.func, ast.Attribute) else None
    if not isinstance(base, ast.Call) or not base.args:
        return False
    return bare_name(base) in {"tensor", "as_tensor", "array"} and isinstance(
        base.args[0], ast.List | ast.Tuple
    )


def _gathered(function: Function) -> Iterator[MadeChannels]:
    """`channels.append(x + noise like x)` in a loop that does not change x, or a list of such."""
    for loop in own_nodes(function.node):
        if isinstance(loop, ast.For):
            changed = changed_in(loop)
            for node in all_nodes(loop):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr == "append"
                    and CHANNEL_WORDS.intersection(words_of(node.func.value))
                    and node.args
                    and _is_noisy_copy(node.args[0], changed)
                ):
                    yield MadeChannels(Site(function.source, node), Site(function.source, node.args[0]))
        elif isinstance(loop, ast.Call) and _is_join(loop) and isinstance(loop.args[0], ast.ListComp):
            copies = loop.args[0]
            over = {n.id for g in copies.generators for n in all_nodes(g.target, ast.Name)}
            if axis_of(loop) in CHANNEL_AXES and _is_noisy_copy(copies.elt, over):
                yield MadeChannels(Site(function.source, loop), Site(function.source, copies.elt))


def _is_noisy_copy(node: ast.expr, changed: set[str]) -> bool:
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
        return False
    for copy, noise in ((node.left, node.right), (node.right, node.left)):
        if isinstance(copy, ast.Name) and copy.id not in changed and is_drawn_like(noise, copy, DRAWS):
            return True
    return False


# --- reading


def _names_in(node: ast.expr) -> set[str]:
    return {one.id for one in all_nodes(node, ast.Name)}


def _joins(function: Function) -> Iterator[ast.Call]:
    for node in own_nodes(function.node):
        if isinstance(node, ast.Call) and _is_join(node):
            yield node


def _is_join(node: ast.Call) -> bool:
    return bare_name(node) in JOINS and bool(node.args)


def _spoken(function: Function) -> set[str]:
    """The words of a function's names: its own, its class's, its parameters' and its variables'."""
    owner = function.owner
    names = {function.name, owner.name if isinstance(owner, Class) else "", *function.parameters}
    names |= {node.id for node in own_nodes(function.node, ast.Name)}
    return {word for name in names for word in words(name)}
