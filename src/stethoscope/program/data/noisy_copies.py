"""Copies of one channel, each with noise of its own, as statements say it.

Two ways lead there. An array is made of copies (`x.repeat(12, 1)`, `np.repeat(x[:1], n, axis=0)`) and noise
in its full shape is added; or noisy versions of one thing are gathered (`[x + noise(x) for _ in range(n)]`)
and joined. Copies along the batch are how views and samples are made: an axis counts only where it is the
channels by its place among four, or where the names around say so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.made_channels import MadeChannels, is_written_out
from stethoscope.program.data.widening_functions import widening_functions
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.array_statements import (
    axis_of,
    changed_in,
    given_values,
    is_drawn_like,
    is_of_library,
    words_of,
)
from stethoscope.program.objective.filled_channels import CHANNEL_WORDS
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

# fmt: off
# What is copied to be many samples, or what is drawn to be random and nothing else.
SAMPLING_WORDS = frozenset({
    "view", "views", "sample", "samples", "candidate", "candidates", "ensemble", "particle", "particles",
    "crop", "crops", "trial", "trials", "chains", "draws", "slot", "slots", "query", "queries", "prompt",
    "token", "tokens", "mc", "hypotheses", "members", "positives", "mu", "prior", "population",
})
DRAWS = frozenset({
    "randn_like", "rand_like", "randn", "normal", "standard_normal", "rand", "poisson", "normal_", "uniform",
    "laplace",
})
JOINS = frozenset({"cat", "concat", "concatenate", "stack", "vstack", "dstack"})
KEEPING = frozenset({
    "clone", "contiguous", "float", "double", "half", "copy", "astype", "to", "cuda", "detach", "from_numpy",
    "array", "tensor", "as_tensor", "FloatTensor", "clamp", "clip",
})
# fmt: on
NOISE_WORDS = frozenset({"noise", "noisy", "jitter"})
REPEATS = frozenset({"repeat", "expand", "tile", "broadcast_to", "repeat_interleave"})
PICTURES = 4  # sizes of a batch of pictures; with one more, of volumes


@dataclass(frozen=True, slots=True, eq=False)
class _Scope:
    """A body of statements: what its variables are given, and the words of its names."""

    source: Source
    nodes: Sequence[ast.AST]
    given: dict[str, list[ast.expr]]
    named: frozenset[str]
    drawing: frozenset[str]  # the functions of the program that draw noise
    widening: frozenset[str]  # and those that copy channels

    def site(self, node: ast.AST) -> Site:
        return Site(self.source, node)


def noisy_places(index: Index) -> int:
    """How many files draw numbers that noise may be made of."""
    return sum(_may_draw(module.source) for module in index.modules.values() if not is_test(module.source))


@remembered
def noisy_copies(index: Index) -> tuple[MadeChannels, ...]:
    """Every place of the program where copies of a channel get noise each."""
    drawing = frozenset(
        function.name
        for function in index.functions
        if NOISE_WORDS & set(words(function.name))
        and any(isinstance(node, ast.Call) and bare_name(node) in DRAWS for node in own_nodes(function.node))
    )
    found: dict[int, MadeChannels] = {}
    widening = widening_functions(index, _axis_of_copies)
    for scope in _scopes(index, drawing, widening):
        for one in (*_noise_on_copies(scope), *_gathered(scope)):
            found.setdefault(id(one.joined.node), one)
    return tuple(found.values())


def _scopes(index: Index, drawing: frozenset[str], widening: frozenset[str]) -> Iterator[_Scope]:
    for module in index.modules.values():
        if not is_test(module.source) and _may_draw(module.source):
            nodes = list(_top_level(module.source.tree))
            yield _Scope(module.source, nodes, given_values(nodes), frozenset(), drawing, widening)
    lines = {
        module.source.file: module.source.text.splitlines()
        for module in index.modules.values()
        if not is_test(module.source) and _may_draw(module.source)
    }
    telling = re.compile("|".join((*DRAWS, *drawing)))
    for function in index.functions:
        first, last = function.node.lineno - 1, function.node.end_lineno
        here = lines.get(function.source.file, [])[first:last]
        if not any(map(telling.search, here)):
            continue
        nodes = list(own_nodes(function.node))
        named = frozenset(_named(function))
        yield _Scope(function.source, nodes, given_values(nodes), named, drawing, widening)


def _top_level(tree: ast.Module) -> Iterator[ast.AST]:
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for statement in tree.body:
        if not isinstance(statement, definitions):
            yield from all_nodes(statement)


def _may_draw(source: Source) -> bool:
    return any(f"{draw}(" in source.text for draw in DRAWS)


def _named(function: Function) -> Iterator[str]:
    owner = function.owner
    yield from words(function.name)
    yield from words(owner.name) if isinstance(owner, Class) else ()


# --- an array of copies, then noise


def _noise_on_copies(scope: _Scope) -> Iterator[MadeChannels]:
    for node in scope.nodes:
        for copies, noise in _additions(node):
            whole = copies.value if isinstance(copies, ast.Subscript) else copies
            repeated = _copies(whole, scope)
            if repeated is None:
                continue
            count = _count_of(repeated)
            if _is_drawn_for(noise, copies, count, scope) and not _is_taken_apart(node, scope):
                yield MadeChannels(scope.site(repeated), scope.site(node))


def _is_taken_apart(noisy: ast.AST, scope: _Scope) -> bool:
    """Whether the copies are picked one by one behind the noise, as the two views of a contrast are."""
    names = {
        target.id
        for one in scope.nodes
        if isinstance(one, ast.Assign | ast.AugAssign) and any(part is noisy for part in all_nodes(one))
        for target in (one.targets if isinstance(one, ast.Assign) else [one.target])
        if isinstance(target, ast.Name)
    }
    picked = set()
    for one in scope.nodes:
        match one:
            case ast.Subscript(
                value=ast.Name(id=name), slice=ast.Tuple(elts=[_, ast.Constant(value=int(at)), *_])
            ):
                picked |= {at} if name in names else set()
    return len(picked) > 1


def _additions(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What noise may be added to, and the noise: `x + n`, `x += n`, `x.add_(n)`, `torch.normal(x, s)`."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield left, right
            yield right, left
        case ast.AugAssign(target=target, op=ast.Add(), value=value):
            yield target, value
        case ast.Call(func=ast.Attribute(value=target, attr="add_" | "add"), args=[noise, *rest]):
            yield target, noise
            if rest:  # torch.add(x, noise)
                yield noise, rest[0]
        case ast.Call(args=[target, *_]) if bare_name(node) in {"normal", "poisson"}:
            yield target, node


def _copies(node: ast.expr, scope: _Scope) -> ast.Call | None:
    """The call that copies a channel; None where copies are along another axis, or none are made."""
    target = ""
    if isinstance(node, ast.Name):
        target = node.id
        made = [one for one in scope.given.get(target, []) if not _mentions(one, target)]
        if len(made) != 1:
            return None
        node = made[0]
    while isinstance(node, ast.Call) and bare_name(node) in KEEPING:
        inner = node.args[0] if isinstance(node.func, ast.Name) or is_of_library(node) else node.func
        node = inner.value if inner is node.func and isinstance(inner, ast.Attribute) else inner
    if not isinstance(node, ast.Call):
        return None
    said = {word for part in (node, ast.Name(target)) for word in words_of(part)} | scope.named
    if said & SAMPLING_WORDS:
        return None
    if is_written_out(node):
        return None
    if bare_name(node) in scope.widening:
        return node
    place = _axis_of_copies(node)
    if place is None:
        return None
    is_certain = place == "channels"
    return node if is_certain or said & CHANNEL_WORDS else None


def _axis_of_copies(node: ast.Call) -> str | None:
    """ "channels" where copies lie along the second of four axes, "open" where the axis may be another."""
    name = bare_name(node)
    if name in JOINS and node.args:
        if not _is_list_of_one(node.args[0]):
            return None
        return "channels" if name in {"cat", "concat", "concatenate"} and axis_of(node) in {1, -3} else "open"
    if name not in REPEATS:
        return None
    given = node.args[1:] if is_of_library(node) else node.args
    pattern = given[0] if given else node
    if isinstance(pattern, ast.Constant) and isinstance(pattern.value, str):  # einops
        before, _, after = pattern.value.partition("->")
        return "channels" if "c" in after.split() and "c" not in before.split() else None
    axis = axis_of(node, of_repeat=True)
    is_flat = name in {"repeat", "repeat_interleave"} and (is_of_library(node) or axis is not None)
    if is_flat:
        return "open" if axis in {0, 1, -2, -3} else None
    sizes = given[0].elts if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List) else given
    grown = [place for place, size in enumerate(sizes) if not _keeps(size)]
    if len(sizes) < 2 or len(grown) != 1:
        return None
    if len(sizes) >= PICTURES:
        return "channels" if grown == [1] else None
    return "open" if grown[0] < len(sizes) - 1 else None


def _keeps(size: ast.expr) -> bool:
    """Whether a size says that an axis stays as it is."""
    text = ast.unparse(size)
    return text in {"1", "-1"} or ".shape[" in text or ".size(" in text


def _is_list_of_one(node: ast.expr) -> bool:
    """`[x, x, x]` or `[x] * 3`."""
    match node:
        case ast.List(elts=[first, *rest]) | ast.Tuple(elts=[first, *rest]) if rest:
            return len({ast.unparse(one) for one in (first, *rest)}) == 1 and not isinstance(first, ast.Call)
        case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult()):
            return not isinstance(one, ast.Call)
    return False


def _count_of(repeated: ast.Call) -> str:
    given = repeated.args[1:] if is_of_library(repeated) else repeated.args
    sizes = given[0].elts if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List) else given
    grown = [ast.unparse(size) for size in sizes if not _keeps(size)]
    return grown[0] if grown else ""


def _is_drawn_for(noise: ast.expr, copies: ast.expr, count: str, scope: _Scope) -> bool:
    """Whether noise has the full shape of the copies: like them, of their shape, or of their number."""
    shape = ast.unparse(copies)
    shapes = {shape, f"{shape}.shape", f"*{shape}.shape", f"{shape}.size()", f"*{shape}.size()"}
    for draw in _draws(noise, scope):
        given = [ast.unparse(arg) for arg in (*draw.args, *(keyword.value for keyword in draw.keywords))]
        if shapes.intersection(given):
            return True
        sizes = {
            text
            for arg in draw.args
            for text in (map(ast.unparse, arg.elts) if isinstance(arg, ast.Tuple) else [ast.unparse(arg)])
        }
        if count and not count.isdigit() and count in sizes and len(sizes) > 1:
            return True
        if bare_name(draw) in {"normal_"} and shape in ast.unparse(draw.func):
            return True
    return False


def _draws(noise: ast.expr, scope: _Scope) -> Iterator[ast.Call]:
    for node in all_nodes(noise):
        if isinstance(node, ast.Call) and bare_name(node) in DRAWS:
            yield node
        elif isinstance(node, ast.Name):
            made = scope.given.get(node.id, [])
            for one in made if len(made) == 1 else ():
                yield from (inner for inner in all_nodes(one, ast.Call) if bare_name(inner) in DRAWS)


# --- noisy versions of one thing, joined


def _gathered(scope: _Scope) -> Iterator[MadeChannels]:
    for node in scope.nodes:
        match node:
            case ast.Call(args=[row, *_]) if bare_name(node) in JOINS:
                yield from _joined(node, row, scope)
            case ast.For(target=ast.Name(id=name)):
                yield from _filled(node, name, scope)


def _joined(join: ast.Call, row: ast.expr, scope: _Scope) -> Iterator[MadeChannels]:
    """A join of a list whose elements are one thing with noise, each drawn anew."""
    named = set(words_of(join)) | _targets(join, scope) | scope.named
    gathered: list[tuple[ast.expr, set[str]]] = []
    if isinstance(row, ast.Name):
        made = scope.given.get(row.id, [])
        row = made[0] if len(made) == 1 else row
        gathered += _appended(row, join, scope) if isinstance(row, ast.List) and not row.elts else []
    match row:
        case ast.ListComp(elt=elt, generators=[generator]):
            over = {inner.id for inner in all_nodes(generator.target, ast.Name)}
            named |= set(words_of(generator.iter))
            gathered.append((elt, over))
        case ast.List(elts=[first, second, *rest]) | ast.Tuple(elts=[first, second, *rest]):
            same = {ast.unparse(_base(one, set(), scope) or one) for one in (first, second, *rest)}
            if len(same) == 1:
                gathered.append((first, set()))
    is_channels = bare_name(join) in {"cat", "concat", "concatenate"} and axis_of(join) in {1, -3}
    if named & SAMPLING_WORDS or axis_of(join) not in {None, 0, 1, -2, -3}:
        return
    is_channels = is_channels or bool(named & CHANNEL_WORDS)
    for element, changed in gathered:
        base = _base(element, changed, scope)
        if base is not None and (is_channels or _is_row_beside_others(base, join, scope)):
            yield MadeChannels(scope.site(join), scope.site(element))


def _is_row_beside_others(base: ast.expr, join: ast.Call, scope: _Scope) -> bool:
    """`cat([x[:2], stack(copies of x[1]), x[2:]])`: the copies of a row become rows beside the others."""
    if not isinstance(base, ast.Subscript):
        return False
    whole = ast.unparse(base.value)
    names = {name for name, made in scope.given.items() if any(_holds(one, join) for one in made)}
    for outer in scope.nodes:
        match outer:
            case ast.Call(args=[ast.List(elts=parts) | ast.Tuple(elts=parts), *_]) if (
                outer is not join and bare_name(outer) in JOINS
            ):
                has_copies = any(_holds(one, join) or getattr(one, "id", "") in names for one in parts)
                rest = (one.value if isinstance(one, ast.Subscript) else one for one in parts)
                if has_copies and whole in map(ast.unparse, rest):
                    return True
    return False


def _appended(row: ast.expr, join: ast.Call, scope: _Scope) -> list[tuple[ast.expr, set[str]]]:
    """What loops append to a list that starts empty, with the names that each loop changes."""
    name = ast.unparse(join.args[0])
    found = []
    for loop in scope.nodes:
        if not isinstance(loop, ast.For):
            continue
        changed = changed_in(loop)
        for node in all_nodes(loop):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=held), attr="append"), args=[one]):
                    if held == name:
                        found.append((one, changed))
    return found


def _filled(loop: ast.For, counter: str, scope: _Scope) -> Iterator[MadeChannels]:
    """`out[c] = x + noise like x` in a loop over channels that does not change x."""
    changed = changed_in(loop)
    named = {*words(counter), *words_of(loop.iter)} | scope.named
    for node in all_nodes(loop):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=held, slice=place)], value=value):
                is_channel = (named | set(words_of(held))) & CHANNEL_WORDS and _mentions(place, counter)
                if is_channel and _base(value, changed, scope) is not None:
                    yield MadeChannels(scope.site(node), scope.site(value))


def _base(element: ast.expr, changed: set[str], scope: _Scope) -> ast.expr | None:
    """What a noisy version is a version of: the `x` of `x + s * randn_like(x)` or of `with_noise(x)`."""
    if isinstance(element, ast.Call) and bare_name(element) in KEEPING and element.args:
        element = element.args[0]
    match element:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            for one, noise in ((left, right), (right, left)):
                if _is_fixed(one, changed) and is_drawn_like(noise, one, DRAWS):
                    return one
        case ast.Call(args=[one, *_]) if bare_name(element) in scope.drawing | {"normal", "poisson"}:
            return one if _is_fixed(one, changed) else None
    return None


def _is_fixed(node: ast.expr, changed: set[str]) -> bool:
    names = {inner.id for inner in all_nodes(node, ast.Name)}
    is_plain = isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
    return is_plain and bool(names) and not names & changed


# --- reading


def _targets(join: ast.Call, scope: _Scope) -> set[str]:
    """The words of the variable that a join is given to, and of the list that it joins."""
    found = [name for name, made in scope.given.items() if any(_holds(one, join) for one in made)]
    return {word for name in found for word in words(name)}


def _holds(node: ast.expr, join: ast.Call) -> bool:
    return any(inner is join for inner in all_nodes(node))


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id == name for inner in all_nodes(node))
