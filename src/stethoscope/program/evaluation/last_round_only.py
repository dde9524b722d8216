"""Counts of an evaluation that hold no more than its last batch.

    for x, y in loader:                       correct = seen = 0
        hits = []                             for x, y in loader:
        for guess, want in zip(model(x), y):      correct = right(model(x), y)
            hits.append(guess == want)            seen = len(y)
    return mean(hits)                         return correct / seen

On the left the counts begin anew with every batch, as does an object that counts, made in the loop; on the
right each batch takes the place of the last one. Nothing reads them before the loop is over. Of the left kind
are here lists, such objects, and sums over the samples of a batch; `totals` has those that a batch adds to
once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluation_entries import evaluates
from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, blocks, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# Loops over these make whole trainings or evaluations, of which the last may be meant.
WHOLES = frozenset(
    {"epoch", "epochs", "ep", "fold", "folds", "seed", "seeds", "trial", "trials", "run", "runs"}
)
GROWING = frozenset({"append", "extend", "update", "add"})
TRAINING = frozenset({"backward", "step", "zero_grad"})
LATEST = frozenset({"last", "latest", "prev", "previous", "final", "current", "cur"})


@dataclass(frozen=True, slots=True, eq=False)
class LastRoundOnly:
    """A count, the statement that makes every round forget the others, and where it is read."""

    source: Source
    name: str
    forgets: ast.stmt
    read: ast.AST
    begins_anew: bool


def last_rounds_only(index: Index) -> Iterator[LastRoundOnly]:
    """The counts of evaluations that are read behind the loop, and hold its last round."""
    for function in index.bodies:
        if is_test(function.source) or not evaluates(function):
            continue
        for before, loop, behind in _loops(function.node):
            if _is_whole(loop) or _ends_at_once(loop) or TRAINING & _called(loop):
                continue
            for name, forgets, begins_anew in _forgotten(before, loop):
                read = next((one for node in behind for one in _reads(node, name)), None)
                if read is not None:
                    yield LastRoundOnly(function.source, name, forgets, read, begins_anew)
                    break


def _loops(function: ast.AST) -> Iterator[tuple[list[ast.AST], ast.For, list[ast.AST]]]:
    """Each loop with the statements before and behind it, in its own block."""
    holders = [function, *own_nodes(function)] if isinstance(function, ast.FunctionDef) else []
    for holder in holders:
        if isinstance(holder, ast.With):
            continue  # gone through with the block that it stands in
        for block in blocks(holder):
            yield from _loops_in(block, [], [])


def _loops_in(
    block: Sequence[ast.AST], before: list[ast.AST], behind: list[ast.AST]
) -> Iterator[tuple[list[ast.AST], ast.For, list[ast.AST]]]:
    """The loops of a block and of what it does `with` something, such as no gradients."""
    for at, statement in enumerate(block):
        earlier, later = [*before, *block[:at]], [*block[at + 1 :], *behind]
        if isinstance(statement, ast.For):
            yield earlier, statement, later
        elif isinstance(statement, ast.With):
            yield from _loops_in(statement.body, earlier, later)


def _is_whole(loop: ast.For) -> bool:
    """Whether each round is a training or an evaluation: it is called so, or only counts and loops itself."""
    if _only_counts(loop):
        return True
    named = [one.id for part in (loop.target, loop.iter) for one in all_nodes(part, ast.Name)]
    named += [one.attr for one in all_nodes(loop.iter, ast.Attribute)]
    return any(WHOLES.intersection(words(name)) for name in named)


def _only_counts(loop: ast.For) -> bool:
    """`for _ in range(n):` around another loop, of which no round looks at its number or draws a batch."""
    over = loop.iter
    is_range = isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range"
    below = [node for statement in loop.body for node in all_nodes(statement)]
    return (
        is_range
        and isinstance(loop.target, ast.Name)
        and any(isinstance(node, ast.For) for node in loop.body)
        and not any(isinstance(node, ast.Name) and node.id in {loop.target.id, "next"} for node in below)
    )


def _ends_at_once(loop: ast.For) -> bool:
    return any(isinstance(one, ast.Break | ast.Return) for one in loop.body)


def _called(loop: ast.For) -> set[str]:
    return {str(getattr(call.func, "attr", "")) for call in all_nodes(loop, ast.Call)}


def _forgotten(before: Sequence[ast.AST], loop: ast.For) -> Iterator[tuple[str, ast.stmt, bool]]:
    """The names that every round gives a value of its own, that grow or should, and that no round reads."""
    grown = _grown(loop)
    told = {name for statement in _direct(loop.body) for name in _added_to(statement)}
    begun = {name for node in before for name, value in _given(node) if _is_nothing(value)}
    for statement in _direct(loop.body):
        for name, value in _given(statement):
            if LATEST & set(words(name)) or any(_reads(loop, name)):
                continue
            if (_is_nothing(value) or _is_empty_holder(value)) and name in grown - told:
                yield name, statement, True
            elif not isinstance(value, ast.Constant) and name in begun and name not in grown:
                yield name, statement, False


def _direct(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that every round makes."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.With):
            yield from _direct(statement.body)


def _added_to(statement: ast.stmt) -> Iterator[str]:
    name = _counted_under(statement.target) if isinstance(statement, ast.AugAssign) else ""
    if name:
        yield name


def _counted_under(target: ast.AST) -> str:
    """The name of a count, or of one that stands in a table: `total`, `sums['loss']`."""
    match target:
        case ast.Name(id=name):
            return name
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str())):
            return ast.unparse(target)
    return ""


def _given(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """`a = b = 0` and `a, b = 0, 0`, name by name."""
    for target in node.targets if isinstance(node, ast.Assign) else ():
        match target, getattr(node, "value", None):
            case ast.Name(id=name), ast.Dict(keys=keys, values=values):
                named = zip(keys, values, strict=True)
                yield from (
                    (f"{name}[{key.value!r}]", one) for key, one in named if isinstance(key, ast.Constant)
                )
            case ast.Name(id=name), ast.expr() as value:
                yield name, value
            case ast.Subscript(), ast.expr() as value if _counted_under(target):
                yield _counted_under(target), value
            case ast.Tuple(elts=names), ast.Tuple(elts=values):
                pairs = zip(names, values, strict=False)
                yield from ((one.id, value) for one, value in pairs if isinstance(one, ast.Name))


def _is_nothing(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=int() | float() as number):
            return number == 0 and not isinstance(number, bool)
        case ast.List(elts=[]):
            return True
    return False


def _is_empty_holder(value: ast.expr) -> bool:
    """`ConfusionMeter(classes)`, `dict()`: an object that counts from nothing."""
    if not isinstance(value, ast.Call):
        return False
    name = str(getattr(value.func, "attr", None) or getattr(value.func, "id", ""))
    return name[:1].isupper() or name in {"list", "dict", "set", "defaultdict"}


def _grown(loop: ast.For) -> set[str]:
    added = {name for one in all_nodes(loop, ast.AugAssign) if (name := _counted_under(one.target))}
    for call in all_nodes(loop, ast.Call):
        match call.func:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in GROWING:
                if not any(map(_is_drawing, call.args)):
                    added.add(name)
    return added


def _is_drawing(value: ast.expr) -> bool:
    """`ax.scatter(times, scores)`: what a plot is made of, and no count."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name in {"plt", "fig"} or name.startswith("ax")
    return False


def _reads(node: ast.AST, name: str) -> Iterator[ast.AST]:
    """Where a name is read; what only makes it grow is no reading."""
    growing = {
        id(call.func.value)
        for call in all_nodes(node, ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr in GROWING
    }
    table = name.partition("[")[0]
    within = {
        id(one.value) for one in all_nodes(node, ast.Subscript) if table != name and _is_other(one, name)
    }
    for one in all_nodes(node, ast.Name):
        if one.id == table and isinstance(one.ctx, ast.Load) and id(one) not in growing | within:
            yield one


def _is_other(item: ast.Subscript, name: str) -> bool:
    """Whether an item of a table is another than the one of this name, or is given and not read."""
    return isinstance(item.slice, ast.Constant) and (
        ast.unparse(item) != name or isinstance(item.ctx, ast.Store)
    )
