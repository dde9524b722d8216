"""Going through syntax trees fast: a large repository has a million nodes, and every fact asks for some."""

from __future__ import annotations

import ast
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast, overload

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Kind = TypeVar("Kind", bound=ast.AST)

# What never holds an expression or statement that anybody asks for.
_LEAVES = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "name", "names", "kind", "asname", "module", "level", "simple"}
    | {"type_comment", "type_ignores", "tag", "is_async", "conversion", "lineno", "rest", "kwd_attrs"}
)
# Their lists have holes: `{**others}` has no key, and a parameter behind the star may have no default.
_WITH_HOLES = frozenset({ast.Dict, ast.arguments})

_DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
_SCOPES = _DEFINITIONS | {ast.Lambda}

# What is asked for again and again, by one fact after the other: their nodes are kept with them.
_KEPT = _DEFINITIONS | {ast.Module}

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def _kinds() -> Iterator[type[ast.AST]]:
    return (kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST))


def _fields() -> dict[type[ast.AST], tuple[str, ...]]:
    """The fields of each kind of node that hold other nodes."""
    found = {kind: tuple(name for name in kind._fields if name not in _LEAVES) for kind in _kinds()}
    # Here names that are texts elsewhere hold nodes.
    found[ast.Import] = found[ast.ImportFrom] = ("names",)
    found[ast.Constant] = found[ast.MatchSingleton] = ()
    return found


_FIELDS = _fields()
_BLOCKS_OF = {
    kind: tuple(name for name in _BLOCKS if name in kind._fields)
    for kind in _kinds()
    if not issubclass(kind, ast.expr)  # the body of a lambda is no block
}


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below a node; contexts and operators are left out."""
    found: list[ast.AST] = []
    for name in _FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += value
        elif value is not None:
            found.append(value)
    return [child for child in found if child is not None] if node.__class__ in _WITH_HOLES else found


def blocks(node: ast.AST) -> Iterator[list[ast.AST]]:
    """The blocks of statements directly inside a statement; handlers and cases count as statements."""
    return (getattr(node, name) for name in _BLOCKS_OF.get(node.__class__, ()))


def definitions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """The functions and classes below a node at any depth; no expression is entered."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
        for block in blocks(node):
            waiting.extend(block)


@overload
def walk(tree: ast.AST) -> Sequence[ast.AST]: ...
@overload
def walk(tree: ast.AST, *kinds: type[Kind]) -> Sequence[Kind]: ...
def walk(tree: ast.AST, *kinds: type[ast.AST]) -> Sequence[ast.AST]:
    """A node and all below it, or those of some kinds; those of one block come in order."""
    return _found(tree, "_in_order", _in_order, kinds)


@overload
def all_nodes(tree: ast.AST) -> Sequence[ast.AST]: ...
@overload
def all_nodes(tree: ast.AST, *kinds: type[Kind]) -> Sequence[Kind]: ...
def all_nodes(tree: ast.AST, *kinds: type[ast.AST]) -> Sequence[ast.AST]:
    """A node and all below it, or those of some kinds, the outer ones first."""
    return _found(tree, "_all_nodes", _outer_first, kinds, keeps=isinstance(tree, ast.stmt))


def bodies(tree: ast.Module) -> Iterator[Sequence[ast.stmt]]:
    """The statements of a file, and of every function in it."""
    yield tree.body
    yield from (node.body for node in functions(tree))


def functions(tree: ast.AST) -> Sequence[FunctionNode]:
    """Every function below a node, the outer ones first."""
    return cast(Sequence[FunctionNode], all_nodes(tree, ast.FunctionDef, ast.AsyncFunctionDef))


@overload
def own_nodes(node: FunctionNode) -> Sequence[ast.AST]: ...
@overload
def own_nodes(node: FunctionNode, *kinds: type[Kind]) -> Sequence[Kind]: ...
def own_nodes(node: FunctionNode, *kinds: type[ast.AST]) -> Sequence[ast.AST]:
    """The nodes of a function's body, or those of some kinds, without those of definitions inside it."""
    return _found(node, "_own_nodes", _own, kinds)


@overload
def own_below(node: ast.AST) -> Sequence[ast.AST]: ...
@overload
def own_below(node: ast.AST, *kinds: type[Kind]) -> Sequence[Kind]: ...
def own_below(node: ast.AST, *kinds: type[ast.AST]) -> Sequence[ast.AST]:
    """A node and what is below it, or those of some kinds, without what is inside definitions and lambdas."""
    return _found(node, "_own_below", _below, kinds, keeps=isinstance(node, ast.stmt))


def own_loops(node: ast.AST) -> Iterator[ast.For | ast.While]:
    """The loops that a node is or has below it, without those inside definitions."""
    found = own_below(node, ast.For, ast.While)
    return (loop for loop in found if isinstance(loop, ast.For | ast.While))


def own_assignments(body: Sequence[ast.stmt]) -> Iterator[ast.Assign]:
    """The assignments of a body at any depth of blocks, the outer ones first; no definition is entered."""
    waiting: deque[ast.AST] = deque(body)
    while waiting:
        node = waiting.popleft()
        if isinstance(node, ast.Assign):
            yield node
        elif node.__class__ not in _DEFINITIONS and _BLOCKS_OF.get(node.__class__):
            waiting += [one for one in children(node) if not isinstance(one, ast.expr)]


def _found(
    tree: ast.AST,
    name: str,
    find: Callable[[Any], list[ast.AST]],
    kinds: tuple[type[ast.AST], ...],
    keeps: bool = False,
) -> Sequence[ast.AST]:
    """The nodes below a definition are kept with it, those of some kinds too; contexts are left out."""
    if not keeps and tree.__class__ not in _KEPT:
        return [node for node in find(tree) if node.__class__ in kinds] if kinds else find(tree)
    kept: dict[tuple[type[ast.AST], ...], list[ast.AST]] = tree.__dict__.setdefault(name, {})
    known = kept.get(kinds)
    if known is not None:
        return known
    if () not in kept:
        kept[()] = find(tree)
    if kinds not in kept:
        by_kind = vars(tree).setdefault(f"{name}_by_kind", defaultdict(list))
        kept[kinds] = _of_kinds(kept[()], by_kind, kinds)
    return kept[kinds]


def _of_kinds(
    nodes: list[ast.AST],
    by_kind: defaultdict[type[ast.AST], list[ast.AST]],
    kinds: tuple[type[ast.AST], ...],
) -> list[ast.AST]:
    """The nodes of some kinds in their order; `by_kind` is filled when it is first needed."""
    if not by_kind:
        for node in nodes:
            by_kind[node.__class__].append(node)
    there = [by_kind[kind] for kind in kinds if kind in by_kind]
    if len(there) > 1:
        return [node for node in nodes if node.__class__ in kinds]
    return there[0] if there else []


def _in_order(tree: ast.AST) -> list[ast.AST]:
    found = [tree]
    waiting = children(tree)[::-1]
    while waiting:
        node = waiting.pop()
        if node.__class__ in _DEFINITIONS:
            found += walk(node)  # which is kept: what is asked of a function is not looked for again
            continue
        found.append(node)
        if _FIELDS[node.__class__]:
            waiting += children(node)[::-1]
    return found


def _outer_first(tree: ast.AST) -> list[ast.AST]:
    found = [tree]
    for node in found:  # grows while it is gone through; `children` written out, which saves a fifth
        for name in _FIELDS[node.__class__]:
            value = getattr(node, name, None)
            if value.__class__ is list:
                found += [one for one in value if one is not None] if node.__class__ in _WITH_HOLES else value
            elif value is not None:
                found.append(value)
    return found


def _below(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        found.append(current)
        if _FIELDS[current.__class__]:
            waiting += [child for child in children(current) if child.__class__ not in _SCOPES]
    return found


def _own(node: FunctionNode) -> list[ast.AST]:
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        current = waiting.pop()
        found.append(current)
        if _BLOCKS_OF.get(current.__class__):  # nothing else holds definitions
            waiting += [child for child in children(current) if child.__class__ not in _DEFINITIONS]
        elif _FIELDS[current.__class__]:
            waiting += children(current)
    return found
