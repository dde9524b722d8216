"""Groups of parameters whose decays are the wrong way round: biases and norms shrink, matrices do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

SMALL, LARGE = "small", "large"  # biases and norms, and everything with two dimensions or more
OTHER = {SMALL: LARGE, LARGE: SMALL}
GIVING = frozenset({"parameters", "named_parameters"})
SPARED = frozenset({"bias", "biases", "norm", "norms", "layernorm", "batchnorm", "bn", "ln", "rmsnorm"})


@dataclass(frozen=True, slots=True, eq=False)
class TurnedDecay:
    """The group that should decay and does not, and the one that does."""

    source: Source
    spared: ast.Dict
    decayed: ast.Dict


@remembered
def turned_decays(index: Index) -> tuple[TurnedDecay, ...]:
    """The pairs of groups of which the matrices get no decay and the rest does."""
    sources = [source for source in index.program if not is_test(source)]
    return tuple(one for source in sources if "weight_decay" in source.text for one in _turned(source))


def _turned(source: Source) -> Iterator[TurnedDecay]:
    lists = _named_lists(source.tree)
    for node in all_nodes(source.tree):
        if not isinstance(node, ast.List | ast.Tuple):
            continue
        groups = [one for one in node.elts if isinstance(one, ast.Dict)]
        if len(groups) != len(node.elts) or len(groups) < 2:
            continue
        held = {_held(one, lists, source.tree): one for one in groups}
        if LARGE not in held or SMALL not in held or len(held) != len(groups):
            continue
        if _decays(held[LARGE]) is False and _decays(held[SMALL]) is not False:
            yield TurnedDecay(source, held[LARGE], held[SMALL])


def _decays(group: ast.Dict) -> bool | None:
    """Whether a group has a decay; None where it has that of the optimizer."""
    value = _entry(group, "weight_decay")
    if value is None:
        return None
    return not (isinstance(value, ast.Constant) and not value.value)


def _entry(group: ast.Dict, name: str) -> ast.expr | None:
    for key, value in zip(group.keys, group.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == name:
            return value
    return None


def _held(group: ast.Dict, lists: Mapping[str, str], tree: ast.AST) -> str:
    """Which parameters a group holds, "" where it cannot be told."""
    given = _entry(group, "params")
    if isinstance(given, ast.Name):
        return lists.get(given.id, "")
    return _of_comprehension(given, tree) if given is not None else ""


def _of_comprehension(node: ast.expr, tree: ast.AST) -> str:
    match node:
        case ast.ListComp(generators=[one]) | ast.GeneratorExp(generators=[one]) if len(one.ifs) >= 1:
            found = {_asked(test, tree) for test in one.ifs} - {""}
            return found.pop() if len(found) == 1 and GIVING & _called(one.iter) else ""
    return ""


def _named_lists(tree: ast.AST) -> dict[str, str]:
    """The lists of parameters that a program fills, by what they hold."""
    found: dict[str, set[str]] = {}
    for node in all_nodes(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                kind = _of_comprehension(value, tree)
                if kind:
                    found.setdefault(name, set()).add(kind)
            case ast.For(iter=over, body=body) if GIVING & _called(over):
                for part in body:
                    for name, kind in _filled(part, tree):
                        found.setdefault(name, set()).add(kind)
    return {name: next(iter(kinds)) for name, kinds in found.items() if len(kinds) == 1}


def _filled(statement: ast.stmt, tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The lists that a condition puts a parameter into, in either arm."""
    for node in all_nodes(statement):
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                kind = _asked(test, tree)
                if not kind:
                    continue
                yield from ((name, kind) for part in body for name in _appended(part))
                if not any(isinstance(part, ast.If) for part in orelse):
                    yield from ((name, OTHER[kind]) for part in orelse for name in _appended(part))
            case ast.Call(
                func=ast.Attribute(
                    value=ast.IfExp(test=test, body=ast.Name(id=one), orelse=ast.Name(id=other)),
                    attr="append",
                )
            ):
                kind = _asked(test, tree)
                if kind:
                    yield one, kind
                    yield other, OTHER[kind]


def _appended(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "add"))):
            yield name


def _asked(test: ast.expr, tree: ast.AST) -> str:
    """Which parameters a condition holds for: all small ones, all large ones, or "" where it cannot be told.

    `a or b` holds for at least what one of them holds for, and `a and b` for at most that.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            kind = _asked(inner, tree)
            return OTHER[kind] if kind else ""
        case ast.BoolOp(values=values):
            found = {_asked(one, tree) for one in values} - {""}
            return found.pop() if len(found) == 1 else ""
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=int() as bound)]):
            return _by_dimensions(op, bound) if _is_dimensions(left) else ""
        case ast.Compare(left=ast.Constant(value=str() as text), ops=[op]):
            is_spared = bool(SPARED & set(words(text.strip("._"))))
            return (SMALL if isinstance(op, ast.In) else LARGE) if is_spared else ""
        case ast.Call(func=ast.Attribute(attr="endswith"), args=[ast.Constant(value=str() as text)]):
            return SMALL if SPARED & set(words(text.strip("._"))) else ""
        case ast.Call(func=ast.Name(id="any"), args=[ast.GeneratorExp(elt=elt, generators=[one])]):
            is_within = isinstance(elt, ast.Compare) and isinstance(elt.ops[0], ast.In)
            return SMALL if is_within and _lists_spared(one.iter, tree) else ""
    return ""


def _by_dimensions(op: ast.cmpop, bound: int) -> str:
    kinds: dict[tuple[type[ast.cmpop], int], str] = {
        (ast.Lt, 2): SMALL,
        (ast.LtE, 1): SMALL,
        (ast.Eq, 1): SMALL,
        (ast.GtE, 2): LARGE,
        (ast.Gt, 1): LARGE,
        (ast.NotEq, 1): LARGE,
    }
    return kinds.get((type(op), bound), "")


def _is_dimensions(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr="ndim"):
            return True
        case ast.Call(func=ast.Attribute(attr="dim" | "ndimension"), args=[]):
            return True
        case ast.Call(func=ast.Name(id="len"), args=[ast.Attribute(attr="shape")]):
            return True
    return False


def _lists_spared(node: ast.expr, tree: ast.AST) -> bool:
    """Whether a list names biases or norms, written here or under a name."""
    if isinstance(node, ast.Name):
        given = [
            one.value
            for one in all_nodes(tree, ast.Assign)
            if any(isinstance(each, ast.Name) and each.id == node.id for each in one.targets)
        ]
        return len(given) == 1 and not isinstance(given[0], ast.Name) and _lists_spared(given[0], tree)
    texts = [one.value for one in all_nodes(node, ast.Constant) if isinstance(one.value, str)]
    return bool(texts) and any(SPARED & set(words(text.strip("._"))) for text in texts)


def _called(node: ast.AST) -> set[str]:
    calls = (inner.func for inner in all_nodes(node, ast.Call))
    return {str(getattr(func, "attr", getattr(func, "id", ""))) for func in calls}
