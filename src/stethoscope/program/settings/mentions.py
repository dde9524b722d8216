"""Every mention of a name in a repository: as variable, attribute, key or call, and what is around it."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from stethoscope.program.index import Class, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, children
from stethoscope.run import Source, Where

MOST_TEXTS = 100  # that an f-string can be put together to

_KEY = re.compile(r"[\w./-]{1,80}")  # a text that may be a key
_PATH_MARKS = re.compile(r"[./]")
_ADDING = frozenset({"update", "setdefault", "append", "extend", "add", "insert"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Module)
_LIBRARIES = frozenset(
    {
        *("torch", "torchvision", "torchaudio", "numpy", "scipy", "pandas", "jax", "tensorflow"),
        *("math", "random", "os", "sys", "time", "logging", "json", "yaml", "argparse", "pathlib"),
        *("re", "copy", "dataclasses"),
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """An expression in a source file."""

    node: ast.expr
    source: Source

    @property
    def where(self) -> Where:
        """Its address."""
        return self.source.where(self.node)


Spots = dict[str, list[Spot]]


@dataclass(slots=True, eq=False)
class Mentions:
    """A repository's expressions by the names they mention, and each one's parent."""

    index: Index
    parents: dict[int, ast.AST] = field(default_factory=dict)
    attributes: Spots = field(default_factory=lambda: defaultdict(list))
    texts: Spots = field(default_factory=lambda: defaultdict(list))
    calls: Spots = field(default_factory=lambda: defaultdict(list))
    given: Spots = field(default_factory=lambda: defaultdict(list))  # variable or attribute -> its values
    paths: dict[str, Spot] = field(default_factory=dict)  # parts of texts such as "train.lr"
    changed: set[str] = field(default_factory=set)  # variables that `+=` adds to, or that loops give values
    globals: set[str] = field(default_factory=set)  # variables that functions declare to be their module's
    _names: dict[str, Spots] = field(default_factory=dict)  # by file: a variable is nobody else's
    _classes: dict[int, Class] = field(default_factory=dict)

    def names(self, name: str) -> list[Spot]:
        """Every place where a variable of this name is read."""
        return [spot for named in self._names.values() for spot in named.get(name, ())]

    def names_in(self, source: Source, name: str) -> Sequence[Spot]:
        """Every place in one file where a variable of this name is read."""
        return self._names[source.file].get(name, ())

    def variables(self) -> Iterator[tuple[str, Sequence[Spot]]]:
        """All variables that are read, file by file."""
        for named in self._names.values():
            yield from named.items()

    def scope_of(self, node: ast.AST) -> ast.AST:
        """The function, class or module that a node stands in."""
        current = self.parents.get(id(node))
        while current is not None and not isinstance(current, _SCOPES):
            current = self.parents.get(id(current))
        assert current is not None
        return current

    def class_around(self, node: ast.AST) -> Class | None:
        """The class that a node stands in."""
        while not isinstance(node, ast.ClassDef | ast.Module):
            node = self.scope_of(node)
        return self._classes.get(id(node))

    def is_within(self, node: ast.AST, scope: ast.AST) -> bool:
        """Whether a node stands somewhere below another."""
        current: ast.AST | None = node
        while current is not None:
            if current is scope:
                return True
            current = self.parents.get(id(current))
        return False

    def is_open(self, scope: ast.AST) -> bool:
        """Whether the variables of a scope are taken all at once: by `locals()`, `vars()` or `eval(...)`."""
        for name in ("locals", "vars", "eval", "exec"):
            for spot in self.calls.get(name, ()):
                call = spot.node
                if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                    continue  # model.eval()
                if (name != "vars" or not call.args) and self.is_within(call, scope):
                    return True
        return False

    def is_called(self, node: ast.AST) -> bool:
        """Whether an expression is what a call calls."""
        parent = self.parents.get(id(node))
        return isinstance(parent, ast.Call) and parent.func is node


@remembered
def mentions(index: Index) -> Mentions:
    """Note every mention in a repository; asking twice costs once."""
    found = Mentions(index)
    found._classes.update((id(cls.node), cls) for cls in index.classes)
    for source in index.program:
        _note_file(source, found)
    for table in (found.attributes, found.texts, found.calls, found.given):
        table.default_factory = None  # type: ignore[attr-defined]  # asking must not add
    return found


def _note_file(source: Source, found: Mentions) -> None:
    """One pass over a file. It runs once for each node of the repository, so it is one flat function."""
    imports = found.index.module_of(source).imports
    # What is taken out of a library is no setting.
    libraries = {alias for alias, full in imports.items() if full.partition(".")[0] in _LIBRARIES}
    parents, attributes, calls = found.parents, found.attributes, found.calls
    names: Spots = defaultdict(list)
    waiting: deque[ast.AST] = deque([source.tree])
    while waiting:
        parent = waiting.popleft()
        for node in children(parent):
            parents[id(node)] = parent
            kind = node.__class__
            if kind is ast.Name:
                if node.ctx.__class__ is ast.Load:  # type: ignore[attr-defined]
                    names[node.id].append(Spot(node, source))  # type: ignore[attr-defined, arg-type]
                continue
            if kind is ast.Constant:
                _note_text(node, source, found)  # type: ignore[arg-type]
                continue
            waiting.append(node)
            if kind is ast.Attribute:
                assert isinstance(node, ast.Attribute)
                if node.ctx.__class__ is ast.Load and _root(node.value) not in libraries:
                    attributes[node.attr].append(Spot(node, source))
            elif kind is ast.Call:
                assert isinstance(node, ast.Call)
                name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
                if name is not None:
                    calls[name].append(Spot(node, source))
            elif kind is ast.Assign:
                assert isinstance(node, ast.Assign)
                for target in node.targets:
                    name = str(getattr(target, "id", getattr(target, "attr", "")))
                    found.given[name].append(Spot(node.value, source))
            elif isinstance(node, ast.AugAssign | ast.For | ast.comprehension):
                found.changed.update(getattr(one, "id", "") for one in _targets(node.target))
            elif kind is ast.Global:
                found.globals.update(node.names)  # type: ignore[attr-defined]
    names.default_factory = None  # type: ignore[attr-defined]
    found._names[source.file] = names


def _root(node: ast.expr) -> str | None:
    """The variable that a chain of attributes begins with: `torch` of `torch.utils.data`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", None)


def _note_text(node: ast.Constant, source: Source, found: Mentions) -> None:
    text = node.value
    if text.__class__ is str and _KEY.fullmatch(text):
        spot = Spot(node, source)
        found.texts[text].append(spot)
        if "." in text or "/" in text:
            for part in _PATH_MARKS.split(text)[1:]:  # OmegaConf.select(cfg, "train.lr")
                found.paths.setdefault(part, spot)


def taken_by_name(name: str, found: Mentions) -> Iterator[Spot]:
    """Every expression that takes what has this name out of an object: x.name, x["name"], x.get("name")."""
    yield from found.attributes.get(name, ())
    for spot in found.texts.get(name, ()):
        parent = found.parents.get(id(spot.node))
        reads = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load)
        if reads or (isinstance(parent, ast.Call) and _takes(parent, spot.node)):
            assert isinstance(parent, ast.expr)
            yield Spot(parent, spot.source)


def spoken_of(name: str, found: Mentions) -> Iterator[Spot]:
    """Every other text of this name but the keys of literal dicts: something may be looked up by it."""
    taken = {id(spot.node) for spot in taken_by_name(name, found)}
    for spot in found.texts.get(name, ()):
        parent = found.parents.get(id(spot.node))
        is_key = isinstance(parent, ast.Dict) and any(key is spot.node for key in parent.keys)
        if not is_key and id(parent) not in taken and not isinstance(parent, ast.Subscript | ast.Expr):
            yield spot


def called(call: ast.Call) -> str:
    """The name of what a call calls, as far as it is written as one."""
    return dotted(call.func) or str(getattr(call.func, "attr", ""))


def text_of(node: ast.AST | None) -> str | None:
    """The text that a node is."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def texts_of(node: ast.expr, found: Mentions) -> tuple[str, ...] | None:
    """All texts that an expression can be: one that is written out, or those a loop goes through."""
    if isinstance(node, ast.Constant):
        return (node.value,) if isinstance(node.value, str) else ()
    return _in_loop(node, found) if isinstance(node, ast.Name) else None


def computed_texts(node: ast.expr, found: Mentions) -> tuple[str, ...] | None:
    """The same of texts that are put together or taken out of a table, and so stand nowhere as they are."""
    if isinstance(node, ast.Constant):
        return texts_of(node, found)
    if isinstance(node, ast.JoinedStr):
        return _put_together(node, found)
    if isinstance(node, ast.Subscript):
        table = _written_out(node.value, found)
        return _all_texts(table.values) if isinstance(table, ast.Dict) else None
    return _in_loop(node, found, tables=True) if isinstance(node, ast.Name) else None


def _in_loop(node: ast.Name, found: Mentions, tables: bool = False) -> tuple[str, ...] | None:
    """The texts that the variable of a loop around a node goes through."""
    current: ast.AST | None = node
    while current is not None and not isinstance(current, _SCOPES):
        loops = [current] if isinstance(current, ast.For) else getattr(current, "generators", ())
        for loop in loops:
            if isinstance(loop.target, ast.Name) and loop.target.id == node.id and not tables:
                row = loop.iter
                return _all_texts(row.elts) if isinstance(row, ast.Tuple | ast.List | ast.Set) else None
            if tables and node.id in {getattr(name, "id", None) for name in _targets(loop.target)}:
                return _gone_through(loop.target, node.id, loop.iter, found)
        current = found.parents.get(id(current))
    return None


def _put_together(node: ast.JoinedStr, found: Mentions) -> tuple[str, ...] | None:
    """`f"{term}_weight"`, where all that `term` can be is known."""
    parts: list[tuple[str, ...] | None] = []
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            is_plain = value.conversion < 0 and value.format_spec is None
            parts.append(computed_texts(value.value, found) if is_plain else None)
        else:
            parts.append(computed_texts(value, found))
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or math.prod(map(len, known)) > MOST_TEXTS:
        return None
    return tuple(map("".join, itertools.product(*known)))


def _targets(target: ast.expr) -> Sequence[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple | ast.List) else (target,)


def _gone_through(target: ast.expr, name: str, over: ast.expr, found: Mentions) -> tuple[str, ...] | None:
    """The texts that a variable of a loop takes: of a row, or of a table's keys or values."""
    part = "keys"
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and not over.args:
        part, over = over.func.attr, over.func.value
    row = _written_out(over, found)
    if part == "items" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        part = "keys" if getattr(target.elts[0], "id", None) == name else "values"
    elif not isinstance(target, ast.Name):
        return None
    if isinstance(row, ast.Dict) and part in {"keys", "values"}:
        return _all_texts(row.keys if part == "keys" else row.values)
    return _all_texts(row.elts) if isinstance(row, ast.Tuple | ast.List | ast.Set) else None


def _written_out(node: ast.expr, found: Mentions) -> ast.expr | None:
    """A row or table that stands in the source: itself, or the one thing that its variable is given."""
    if not isinstance(node, ast.Name):
        return node
    given = found.given.get(node.id, ())
    if len(given) != 1 or _is_handed_in(node, found) or _is_added_to(node.id, found):
        return None
    scope = found.scope_of(given[0].node)
    return given[0].node if isinstance(scope, ast.Module) or found.is_within(node, scope) else None


def _is_handed_in(node: ast.Name, found: Mentions) -> bool:
    """Whether a variable is a parameter of a function around it."""
    scope = found.scope_of(node)
    while not isinstance(scope, ast.Module):
        own = children(scope.args) if isinstance(scope, FunctionNode | ast.Lambda) else ()
        if any(isinstance(arg, ast.arg) and arg.arg == node.id for arg in own):
            return True
        scope = found.scope_of(scope)
    return False


def _is_added_to(name: str, found: Mentions) -> bool:
    """Whether a row or table of this name gets more elements later: `TERMS["edge"] = ...`, `.update(...)`."""
    if name in found.changed:
        return True
    for spot in found.names(name):
        parent = found.parents.get(id(spot.node))
        if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
            return True
        if isinstance(parent, ast.Attribute) and parent.attr in _ADDING and found.is_called(parent):
            return True
    return False


def _all_texts(elements: Sequence[ast.expr | None]) -> tuple[str, ...] | None:
    texts = tuple(text for element in elements if (text := text_of(element)) is not None)
    return texts if len(texts) == len(elements) else None


def _takes(call: ast.Call, text: ast.expr) -> bool:
    name = called(call).rpartition(".")[2]
    if name in {"get", "pop"}:
        return isinstance(call.func, ast.Attribute) and bool(call.args) and call.args[0] is text
    return name == "getattr" and len(call.args) > 1 and call.args[1] is text
