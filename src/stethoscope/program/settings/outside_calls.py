"""The calls that lead out of the repository: of which class or function, with which keywords."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.program.index import Class, External, Index, Module, dotted, index
from stethoscope.program.settings.declared_options import field_names, is_record_class
from stethoscope.program.settings.mentions import mentions
from stethoscope.program.syntax import FunctionNode, all_nodes, walk
from stethoscope.run import Program, Source, Where

# A test that asks which version there is, before a call that only some versions take.
_ASKS_FOR_VERSION = re.compile(r"version|signature|hasattr|__fields__|is_\w+_available|_AVAILABLE|GREATER")
# What a call with a keyword that is not taken raises.
_CATCHES_IT = re.compile(r"\b(?:TypeError|Exception|BaseException)\b")

# Methods whose keywords are the settings of a training: `YOLO(...).train(epochs=3)`.
_METHODS = frozenset({"train", "val"})

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

Around = tuple[FunctionNode | ast.Lambda, ...]  # the functions that a node stands in


@dataclass(frozen=True, slots=True, eq=False)
class OutsideCall:
    """A call of something outside, by its full dotted name; `name().method` where it is what a call gave.

    `own` are the names that a class of the repository adds to what it inherits. `caught` says that the source
    goes on where the call fails; `for_some_versions` that it asks first which version there is.
    """

    name: str
    node: ast.Call
    source: Source
    own: frozenset[str] = frozenset()
    caught: bool = False
    for_some_versions: bool = False

    @property
    def where(self) -> Where:
        """The address of the call."""
        return self.source.where(self.node)

    def keywords(self) -> Iterator[tuple[str, ast.keyword]]:
        """The keywords that are written out."""
        return ((keyword.arg, keyword) for keyword in self.node.keywords if keyword.arg is not None)

    def unpacked(self) -> Iterator[tuple[str, ...]]:
        """The settings that are handed over whole: `**cfg.trainer` gives ("trainer",), `**cfg` gives ()."""
        for keyword in self.node.keywords:
            path = _path(keyword.value) if keyword.arg is None else None
            if path is not None:
                yield path


@lru_cache(maxsize=4)
def outside_calls(program: Program) -> tuple[OutsideCall, ...]:
    """Every call with keywords that leads out of the repository, in the order of the files."""
    known = index(program)
    return tuple(call for source in program for call in _calls(source, known))


def _calls(source: Source, known: Index) -> Iterator[OutsideCall]:
    going = _Walk(source, known, known.module_of(source), mentions(known).parents)
    calls = [node for node in all_nodes(source.tree, ast.Call) if node.keywords]
    for node in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        yield from going.call(node)


@dataclass(frozen=True, slots=True, eq=False)
class _Circumstances:
    """Where a node stands: in which functions, in a `try` that goes on, under a test of versions."""

    functions: Around = ()
    caught: bool = False
    for_some_versions: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """One file whose calls are gone through, with the parents of its nodes."""

    source: Source
    known: Index
    home: Module
    parents: Mapping[int, ast.AST]

    def call(self, node: ast.Call) -> Iterator[OutsideCall]:
        callee, now = node.func, self.circumstances(node)
        if self.outside(callee, now.functions) == "functools.partial" and node.args:
            callee = node.args[0]
        name, own = self.outside(callee, now.functions), frozenset[str]()
        if name is None:
            name, own = self.inherited(callee, now.functions) or (None, own)
        if name is None and isinstance(callee, ast.Attribute) and callee.attr in _METHODS:
            maker = self.maker(callee.value, now.functions)
            name = f"{maker}().{callee.attr}" if maker is not None else None
        if name is not None:
            yield OutsideCall(name, node, self.source, own, now.caught, now.for_some_versions)

    def circumstances(self, node: ast.AST) -> _Circumstances:
        functions: list[FunctionNode | ast.Lambda] = []
        caught = for_some_versions = False
        while (above := self.parents.get(id(node))) is not None:
            if isinstance(above, _FUNCTIONS):
                functions.append(above)
            elif isinstance(above, ast.Try):
                caught = caught or _is_caught(node, above)
            elif isinstance(above, ast.If | ast.IfExp):
                for_some_versions = for_some_versions or _asks_for_version(above.test)
            node = above
        return _Circumstances(tuple(functions), caught, for_some_versions)

    def outside(self, node: ast.expr, around: Around) -> str | None:
        """The full name of something from outside; None for what is ours, local or unknown."""
        name = dotted(node)
        target = self.known.resolve(self.home, name) if name is not None else None
        # What is local is asked last: that takes a look through whole functions.
        if name is None or not isinstance(target, External) or _is_local(name, around):
            return None
        return target.name

    def inherited(self, node: ast.expr, around: Around) -> tuple[str, frozenset[str]] | None:
        """The one class outside whose constructor a class of the repository uses, and the fields it adds."""
        name = dotted(node)
        target = self.known.resolve(self.home, name) if name is not None else None
        if name is None or not isinstance(target, Class) or _is_local(name, around):
            return None
        lineage, bases = self.known.lineage(target), self.known.outside_bases(target)
        changed = any({"__init__", "__new__"} & set(one.methods) or one.node.keywords for one in lineage)
        if changed or len(bases) != 1:
            return None
        added = (field for one in lineage if is_record_class(one, self.known) for field in field_names(one))
        decorated = any(one.node.decorator_list and not is_record_class(one, self.known) for one in lineage)
        return None if decorated else (bases[0], frozenset(added))

    def maker(self, node: ast.expr, around: Around) -> str | None:
        """What made the object that a method is called on: `YOLO(...)`, or the one value a name has."""
        if isinstance(node, ast.Call):
            return self.outside(node.func, around)
        if not isinstance(node, ast.Name):
            return None
        values = _assigned(self.source.tree).get(node.id, ())
        makers = {self.outside(value.func, ()) if isinstance(value, ast.Call) else None for value in values}
        return makers.pop() if len(makers) == 1 else None


def _is_caught(part: ast.AST, attempt: ast.Try) -> bool:
    """Whether the source goes on where this part of a `try` fails."""
    return part in (*attempt.body, *attempt.handlers) and any(map(_goes_on, attempt.handlers))


def _goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether the source goes on after a TypeError: it is caught and not raised again."""
    catches = handler.type is None or _CATCHES_IT.search(ast.unparse(handler.type))
    return bool(catches) and not any(isinstance(node, ast.Raise) for node in handler.body)


@lru_cache(maxsize=4096)
def _asks_for_version(test: ast.expr) -> bool:
    """Whether a condition names what only some versions have; by its names, as writing it out is slow."""
    for node in walk(test):
        words = (getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "value", ""))
        if any(isinstance(word, str) and _ASKS_FOR_VERSION.search(word) for word in words):
            return True
    return False


@lru_cache(maxsize=64)
def _assigned(tree: ast.Module) -> dict[str, tuple[ast.expr, ...]]:
    """Every value that a name gets anywhere in a file; bound in another way, it has an unknown one too."""
    found: dict[str, list[ast.expr]] = {}
    for node in all_nodes(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
                else:
                    for part in walk(target):
                        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                            found.setdefault(part.id, []).append(target)
        elif isinstance(node, ast.arg):
            found.setdefault(node.arg, []).append(ast.Constant(None))
        elif isinstance(node, ast.For | ast.withitem | ast.NamedExpr | ast.AnnAssign | ast.comprehension):
            for part in walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    found.setdefault(part.id, []).append(ast.Constant(None))
    return {name: tuple(values) for name, values in found.items()}


def _is_local(name: str, around: Around) -> bool:
    """Whether the first part of a name is a parameter or variable of a function around it."""
    head = name.partition(".")[0]
    return any(head in _bound(function) for function in around)


@lru_cache(maxsize=4096)
def _bound(node: FunctionNode | ast.Lambda) -> frozenset[str]:
    """The names that are local to a function: parameters and what it assigns, imports left out."""
    names = {arg.arg for arg in walk(node.args) if isinstance(arg, ast.arg)}
    for part in all_nodes(node, ast.Name, *_DEFINITIONS):
        if isinstance(part, ast.Name):
            names.update({part.id} if isinstance(part.ctx, ast.Store) else ())
        elif isinstance(part, _DEFINITIONS) and part is not node:
            names.add(part.name)
    return frozenset(names)


def _path(node: ast.expr) -> tuple[str, ...] | None:
    """The names that lead from the settings, which are the first name, to what is handed over."""
    if isinstance(node, ast.Call):
        spoken = (dotted(node.func) or "").rpartition(".")[2]
        inner = node.args[0] if node.args and spoken in {"dict", "vars", "to_container", "asdict"} else None
        return _path(inner) if inner is not None else None
    if isinstance(node, ast.Name):
        return ()
    if isinstance(node, ast.Attribute):
        above = _path(node.value)
        return None if above is None else above if node.attr in {"__dict__"} else (*above, node.attr)
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    ):
        above = _path(node.value)
        return None if above is None else (*above, node.slice.value)
    return None
