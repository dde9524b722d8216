"""Records that nothing ever moves: `if score > best: save(net)`, where `best` stays what it began with.

Whatever beats the beginning is then kept as the best, and the last one of those stays.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.beaten_records import BEST_WORDS
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.option import literal
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

KEEPING = frozenset({"deepcopy", "state_dict", "save_pretrained", "save_model", "save_state"})
ORDERS = (ast.Lt, ast.Gt, ast.LtE, ast.GtE)
READING = frozenset({"get", "load", "pop", "loads"})
# Words of what tells when, or how many, and is no score; and of bars that are meant to stand.
COUNTS = frozenset(
    {"epoch", "epochs", "step", "steps", "iter", "iters", "iteration", "n", "num", "k", "every"}
)
BARS = frozenset(
    {"after", "from", "start", "until", "min", "delta", "threshold", "target", "patience", "warmup"}
)
FAR = 1e3


@dataclass(frozen=True, slots=True, eq=False)
class StandingRecord:
    """The comparison, the record as it is written, and where it is given its only value."""

    site: Site
    record: str
    begun: Site


@dataclass(frozen=True, slots=True, eq=False)
class _Given:
    """A value that something is given, and where."""

    value: ast.expr | None
    site: Site


@remembered
def standing_records(index: Index) -> tuple[StandingRecord, ...]:
    """Every comparison with a best that keeps weights, where nothing in the program replaces the best."""
    bodies = [one for one in index.bodies if not is_test(one.source)]
    return tuple(found for function in bodies for found in _in_function(index, function))


def _in_function(index: Index, function: Function) -> Iterator[StandingRecord]:
    for node in own_nodes(function.node, ast.If):
        if not any(_keeps(one) for one in node.body):
            continue
        for record, other in _records(node):
            if isinstance(record, ast.Name) and not _is_in_loop(function, node):
                continue
            if _is_count(function, other) or (COUNTS | BARS) & set(_last_words(record)):
                continue
            given = _given(index, function, record)
            begun = next((one for one in given if _is_beginning(one.value)), None)
            called = _last_words(record)
            stays = all(_is_beginning(one.value) or _is_read_back(one.value, called) for one in given)
            if not _is_called_best(record) and not (
                all(map(_begins_record, given)) and _is_measured(function, other) and not _sets_a_best(node)
            ):
                continue
            if begun is not None and stays and not _is_replaced_in(node, given):
                yield StandingRecord(Site(function.source, node.test), ast.unparse(record), begun.site)


def _is_replaced_in(asked: ast.If, given: list[_Given]) -> bool:
    """Whether the record is given something where it was beaten, whatever that looks like."""
    inside = set(map(id, all_nodes(asked)))
    return any(id(one.site.node) in inside for one in given)


def _records(asked: ast.If) -> list[tuple[ast.Name | ast.Attribute, ast.expr]]:
    """The side of a comparison that is called the best; either, where a best is what is kept under it.

    Beside each stands the other side.
    """
    test = asked.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ORDERS):
        return []
    both = ((test.left, test.comparators[0]), (test.comparators[0], test.left))
    sides = [(one, other) for one, other in both if isinstance(one, ast.Name | ast.Attribute)]
    best = [pair for pair in sides if _is_called_best(pair[0])]
    if len(best) == 1:
        return best
    texts = (one.value for inner in asked.body for one in all_nodes(inner, ast.Constant))
    is_of_best = any(
        isinstance(text, str) and "best" in words(text.partition(".")[0].replace("/", "_")) for text in texts
    )
    is_of_two = len(sides) == 2 and not any((dotted(one) or "").isupper() for one, _ in sides)
    return sides if is_of_best and is_of_two else []


def _is_count(function: Function, side: ast.expr) -> bool:
    """Whether a side is a place in the training, which is counted or gone through, and no score."""
    if not isinstance(side, ast.Name | ast.Attribute):
        return False
    steps = (one for one in all_nodes(function.node, ast.AugAssign) if _is_beginning(one.value))
    loops = all_nodes(function.node, ast.For)
    counted = (*(one.target for one in steps), *(one.target for one in loops))
    written = ast.unparse(side)
    is_gone_through = any(ast.unparse(one) == written for target in counted for one in ast.walk(target))
    return is_gone_through or bool(COUNTS & set(_last_words(side)))


def _is_measured(function: Function, side: ast.expr) -> bool:
    """Whether a side is what a call gave in this function."""
    written = ast.unparse(side)
    return any(
        isinstance(one.value, ast.Call) and any(ast.unparse(target) == written for target in one.targets)
        for one in all_nodes(function.node, ast.Assign)
    )


def _begins_record(given: _Given) -> bool:
    """Whether a record begins so: with what every score beats, where a bar has a number of its own."""
    if not isinstance(given.site.node, ast.Assign):
        return False  # a field of a class of settings
    known = literal(given.value) if given.value is not None else None
    return not isinstance(known, int | float) or known in (0, -1, 1) or abs(known) >= FAR


def _sets_a_best(asked: ast.If) -> bool:
    """Whether a record of another name is written under the question."""
    return any(
        isinstance(getattr(one, "ctx", None), ast.Store) and bool(BEST_WORDS & set(_last_words(one)))
        for inner in asked.body
        for one in all_nodes(inner)
        if isinstance(one, ast.Name | ast.Attribute)
    )


def _last_words(side: ast.expr) -> tuple[str, ...]:
    return tuple(words((dotted(side) or "").rpartition(".")[2]))


def _is_called_best(side: ast.expr) -> bool:
    written = (dotted(side) or "").rpartition(".")[2]
    called = set(words(written[:]))  # as it is spelled: what a bar is compared with tells no best
    return "best" in called or (bool(BEST_WORDS & called) and "so" in called)


def _keeps(statement: ast.stmt) -> bool:
    """Whether weights are kept: something is saved, or a state is taken."""
    calls = (bare_name(call) for call in all_nodes(statement, ast.Call))
    return any(name in KEEPING or name.lower().startswith("save") for name in calls)


def _is_in_loop(function: Function, node: ast.If) -> bool:
    loops = own_nodes(function.node, ast.For, ast.While)
    return any(any(one is node for one in all_nodes(loop)) for loop in loops)


def _given(index: Index, function: Function, record: ast.Name | ast.Attribute) -> list[_Given]:
    """Everything that the record is given anywhere: of a name in its function, of an attribute in all."""
    if isinstance(record, ast.Name):
        if record.id in function.parameters:
            return []
        return list(_given_in(function.node, function.source, record.id, ast.Name))
    name = record.attr
    sources = [source for source in index.program if not is_test(source)]
    if any(f'"{name}"' in source.text and "setattr(" in source.text for source in sources):
        return []
    return [one for source in sources for one in _given_in(source.tree, source, name, ast.Attribute)]


def _given_in(tree: ast.AST, source: Source, name: str, kind: type[ast.expr]) -> Iterator[_Given]:
    for node in all_nodes(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for one, part in _pairs(target, value):
                        if _is_named(one, name, kind):
                            yield _Given(part, Site(source, node))
            case ast.AnnAssign(target=target, value=value) if value is not None:
                is_field = kind is ast.Attribute and isinstance(target, ast.Name) and target.id == name
                if is_field or _is_named(target, name, kind):
                    yield _Given(value, Site(source, node))
            case (
                ast.AugAssign(target=target)
                | ast.NamedExpr(target=target)
                | ast.For(target=target)
                | ast.comprehension(target=target)
            ):
                if any(_is_named(one, name, kind) for one in ast.walk(target)):
                    yield _Given(None, Site(source, node))
            case ast.Nonlocal(names=names) | ast.Global(names=names) if name in names:
                yield _Given(None, Site(source, node))
            case ast.Call(keywords=keywords) if kind is ast.Attribute:  # replace(state, best=score)
                for word in keywords:
                    if word.arg == name:
                        yield _Given(word.value, Site(source, node))


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if not isinstance(target, ast.Tuple | ast.List):
        yield target, value
    elif isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        for one, part in zip(target.elts, value.elts, strict=True):
            yield from _pairs(one, part)
    else:
        yield from ((one, None) for one in target.elts)


def _is_named(target: ast.AST, name: str, kind: type[ast.expr]) -> bool:
    if not isinstance(target, kind):
        return False
    return getattr(target, "attr", None) == name or getattr(target, "id", None) == name


def _is_beginning(value: ast.expr | None) -> bool:
    """A number that stands there: `0.0`, `-1`, `float("inf")`, `math.inf`."""
    if value is None:
        return False
    if isinstance(value, ast.UnaryOp):
        return _is_beginning(value.operand)
    if isinstance(value, ast.Call) and bare_name(value) == "float" and value.args:
        return isinstance(value.args[0], ast.Constant)
    if (dotted(value) or "").rpartition(".")[2] in {"inf", "Inf", "infty"}:
        return True
    known = literal(value)
    return isinstance(known, int | float) and not isinstance(known, bool)


def _is_read_back(value: ast.expr | None, called: Collection[str]) -> bool:
    """What a checkpoint gives back of the record: `state["best"]`, `state.get("best_loss", 0.0)`."""
    match value:
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return _is_of_record(key, called)
        case ast.Call(args=[ast.Constant(value=str(key)), *_]) if bare_name(value) in READING:
            return _is_of_record(key, called)
        case ast.Call(func=ast.Name(id="float" | "int"), args=[inner]):
            return _is_read_back(inner, called)
    return False


def _is_of_record(key: str, called: Collection[str]) -> bool:
    """Whether a key names the record: `losses["val"]` is a new score, however `best_val` is called."""
    return bool(BEST_WORDS & set(words(key))) or list(words(key)) == list(called)
