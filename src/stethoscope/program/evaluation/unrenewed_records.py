"""Records that a score is held against and that never take its place.

    if score > best:
        save(model)

Where nothing ever writes `best` again, every score that beats the number it began with is kept as the best.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.evaluation.choosing import NO_WEIGHTS, SAVING_WORDS
from stethoscope.program.index import Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, bodies
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site
from stethoscope.program.weights.numbers import number
from stethoscope.run import Source

BEST = frozenset({"best", "record", "champion", "lowest", "highest"})
# What writes to a name in other ways than by an assignment.
HANDING = frozenset({"setattr", "update", "append", "load_state_dict", "restore", "fill_", "copy_"})


@dataclass(frozen=True, slots=True, eq=False)
class UnrenewedRecord:
    """The comparison, the record as written, and what is kept by it."""

    compared: Site
    record: str
    kept: Site


@remembered
def unrenewed_records(index: Index) -> tuple[UnrenewedRecord, ...]:
    """The comparisons with a best score that stays what it began with."""
    sources = [source for source in index.program if not is_test(source)]
    found = (one for source in sources for one in _in_source(source, sources))
    return tuple({id(one.compared.node): one for one in found}.values())


def _in_source(source: Source, sources: Sequence[Source]) -> Iterator[UnrenewedRecord]:
    if not any(word in source.text for word in BEST):
        return
    for body in bodies(source.tree):
        for loop in _outermost(body):
            for asked in all_nodes(loop, ast.If):
                record = _record(asked.test)
                save = _save(asked.body) if record is not None else None
                if record is None or save is None or not _begins_as_record(source, record):
                    continue
                if not _is_written_in_rounds(record, loop, sources):
                    yield UnrenewedRecord(Site(source, asked.test), ast.unparse(record), Site(source, save))


def _outermost(body: Sequence[ast.stmt]) -> Iterator[ast.For | ast.While]:
    """The loops that stand in no other: a record may be written behind any loop inside of them."""
    inner: set[int] = set()
    for loop in (one for statement in body for one in all_nodes(statement, ast.For, ast.While)):
        if id(loop) not in inner and isinstance(loop, ast.For | ast.While):
            yield loop
        inner.update(map(id, all_nodes(loop, ast.For, ast.While)))


def _record(test: ast.expr) -> ast.Name | ast.Attribute | None:
    """The best score that a condition holds another against."""
    match test:
        case ast.Compare(left=left, ops=[ast.Lt() | ast.Gt() | ast.LtE() | ast.GtE()], comparators=[right]):
            sides = [one for one in (left, right) if isinstance(one, ast.Name | ast.Attribute)]
            found = [one for one in sides if BEST & set(words((dotted(one) or "").rpartition(".")[2]))]
            return found[0] if len(found) == 1 else None
    return None


def _save(body: Sequence[ast.stmt]) -> ast.Call | None:
    """What keeps the weights there."""
    for call in (one for statement in body for one in all_nodes(statement, ast.Call)):
        spoken = set(words(bare_name(call)))
        if spoken & SAVING_WORDS and not spoken & NO_WEIGHTS:
            return call
    return None


def _begins_as_record(source: Source, record: ast.expr) -> bool:
    """Whether any first score beats it: a threshold that is meant has a number of its own."""
    written = ast.unparse(record)
    given = [
        value
        for node in all_nodes(source.tree)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target, value in _pairs(node)
        if ast.unparse(target) == written
    ]
    numbers = [value for value in given if number(value) is not None]
    return any(map(_is_worst, given)) and all(map(_is_worst, numbers))  # others come from a checkpoint


def _pairs(node: ast.Assign | ast.AnnAssign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each target with what it is given, those of tuples one by one."""
    if node.value is None:
        return
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        elif isinstance(target, ast.Tuple):
            yield from ((one, node.value) for one in target.elts)
        else:
            yield target, node.value


def _is_worst(value: ast.expr) -> bool:
    known = number(value)
    if known is not None:
        return known in (0.0, -1.0) or abs(known) >= 1e3
    return "inf" in ast.unparse(value) or "maxsize" in ast.unparse(value)


def _is_written_in_rounds(record: ast.expr, loop: ast.AST, sources: Sequence[Source]) -> bool:
    """Whether something may write the record while the loop goes on."""
    written, last = ast.unparse(record), (dotted(record) or "").rpartition(".")[2]
    places = [source.tree for source in sources] if isinstance(record, ast.Attribute) else [loop]
    begun = {
        id(target)
        for node in all_nodes(loop, ast.Assign)
        for target in node.targets
        if _is_worst(node.value)  # a record that begins anew, for each fold
    }
    for place in places:
        for node in all_nodes(place, ast.Name, ast.Attribute, ast.Call, ast.Global, ast.Nonlocal):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) if name == written and id(node) not in begun:
                    return True
                case ast.Attribute(attr=name, ctx=ast.Store()) if name == last:
                    if _is_in_loop(node, loop, place):
                        return True
                case ast.Call(args=args) if bare_name(node) in HANDING:
                    if any(last in ast.unparse(one) for one in (*args, node.func)):
                        return True
                case ast.Call(keywords=keywords) if isinstance(record, ast.Attribute):
                    if any(one.arg == last for one in keywords):  # replace(state, best=score)
                        return True
    nodes = (one for source in sources for one in all_nodes(source.tree))
    return any(last in one.names for one in nodes if isinstance(one, ast.Global | ast.Nonlocal))


def _is_in_loop(node: ast.AST, loop: ast.AST, place: ast.AST) -> bool:
    """Whether an attribute is written elsewhere than where it begins, before the loop."""
    return place is loop or any(one is node for one in all_nodes(loop)) or not _is_in_init(node, place)


def _is_in_init(node: ast.AST, tree: ast.AST) -> bool:
    makers = (one for one in all_nodes(tree, ast.FunctionDef) if one.name in {"__init__", "__post_init__"})
    return any(one is node for maker in makers for one in all_nodes(maker))
