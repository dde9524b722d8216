"""Parts of the data by their names: training and held-out ones that are cut alike, and held-out ones unread.

Both are common in scripts that cut one long text in two, and draw batches from either part by its name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.leaks import HELD_OUT, TRAINING, Leak
from stethoscope.program.index import Function, Index, Module, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import FunctionNode, all_nodes, bodies, own_assignments, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# What a name of data says beside the part that it is of.
# fmt: off
NEUTRAL = frozenset({
    "data", "set", "dataset", "split", "loader", "dataloader", "ids", "tokens", "text", "x", "y", "part",
    "samples", "rows", "batches", "df", "ds", "dl", "file", "path", "bin", "txt", "npy", "pt", "jsonl",
    "json", "csv", "tsv", "parquet", "stream", "corpus", "pairs", "examples", "features", "indices", "idx",
})
# fmt: on
_FILE = re.compile(r"\.(?:bin|txt|npy|npz|pt|pkl|jsonl?|csv|tsv|parquet|arrow|h5|conllu?)\b")
_EVALUATES = re.compile(r"\.eval\(\)|\.train\(False\)")


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """A part of the data: the variable or the entry of a table that it is given to."""

    name: str
    table: str  # the variable that holds the table, "" for a variable of its own
    value: ast.expr
    source: Source

    @property
    def is_held_out(self) -> bool:
        """Whether it is called so, and is called nothing but data."""
        return _says(self.name, HELD_OUT, self._whole)

    @property
    def is_training(self) -> bool:
        """Whether it is called so, and is called nothing but data."""
        return _says(self.name, TRAINING, self._whole)

    @property
    def _whole(self) -> frozenset[str]:
        """What the whole is called that it is cut out of."""
        whole = self.value.value if isinstance(self.value, ast.Subscript) else self.value
        spoken = words((dotted(whole) or "").rpartition(".")[2])
        return frozenset(spoken) - HELD_OUT - TRAINING


def cut_alike(index: Index) -> Iterator[Leak]:
    """`{"train": text[:cut], "val": text[:cut]}`: both from the beginning, both to the end, or the same."""
    for module in index.modules.values():
        if is_test(module.source):
            continue
        for body in bodies(module.source.tree):
            yield from _overlapping(list(_parts(module.source, body, inside=True)), body)
            for parts, function in _handed_back(index, module, body):
                yield from _overlapping(parts, function.node.body, handed_back=True)


def _overlapping(
    parts: Sequence[_Named], body: Sequence[ast.stmt], handed_back: bool = False
) -> Iterator[Leak]:
    """Held-out parts that share a place with training ones: of what is handed back, with all others."""
    for held in (one for one in parts if one.is_held_out):
        for trained in parts:
            is_other = trained.is_training or (handed_back and not HELD_OUT & set(words(trained.name)))
            if is_other and _are_cut_alike(held.value, trained.value, body):
                cuts = f"`{ast.unparse(held.value)}`, `{ast.unparse(trained.value)}`"
                why = f"{held.name} and {trained.name} overlap: {cuts}"
                yield Leak(held.source, held.value, trained.value, why)


def left_unread(index: Index) -> Iterator[Leak]:
    """A held-out part beside a training part that nothing reads, in a program that evaluates."""
    sources = [source for source in index.program if not is_test(source)]
    if not any(_EVALUATES.search(source.text) for source in sources):
        return
    parts = [part for source in sources for body in bodies(source.tree) for part in _parts(source, body)]
    held = [part for part in parts if part.is_held_out]
    trained = [part for part in parts if part.is_training and _reads(sources, part)]
    if not held or not trained or _names_held_out_data(sources, held):
        return
    if any(_reads(sources, part) for part in held):
        return
    for part in held:
        twin = next((one for one in trained if one.source is part.source and one.table == part.table), None)
        if twin is not None:
            why = f"{part.name} is made and never read: what is measured is measured on other data"
            yield Leak(part.source, part.value, twin.value, why)


def _says(name: str, part: frozenset[str], whole: frozenset[str] = frozenset()) -> bool:
    """Whether a name speaks of a part, and of nothing but data beside it."""
    spoken = set(words(name))
    return bool(spoken & part) and spoken <= part | whole | NEUTRAL


def _handed_back(
    index: Index, module: Module, body: Sequence[ast.stmt]
) -> Iterator[tuple[list[_Named], Function]]:
    """`train, held = load(path)`: the names that parts get which a function with one return gives back."""
    for node in (one for statement in body for one in all_nodes(statement, ast.Assign)):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call(func=func)):
                function = index.resolve(module, dotted(func) or "")
                if isinstance(function, Function):
                    pairs = zip(targets, _returned_row(function), strict=False)
                    made = (_given(function.source, target, one, inside=True) for target, one in pairs)
                    yield [part for parts in made for part in parts], function


def _returned_row(function: Function) -> list[ast.expr]:
    rows = [node.value for node in own_nodes(function.node, ast.Return)]
    return rows[0].elts if len(rows) == 1 and isinstance(rows[0], ast.Tuple) else []


def _parts(source: Source, body: Sequence[ast.stmt], inside: bool = False) -> Iterator[_Named]:
    """What is cut under a name that speaks of a part; with `inside` also the one cut in a larger value."""
    for node in own_assignments(body):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, values, strict=False):
                    yield from _given(source, target, value, inside)
            case ast.Assign(targets=[target], value=value):
                yield from _given(source, target, value, inside)


def _given(source: Source, target: ast.expr, value: ast.expr, inside: bool) -> Iterator[_Named]:
    cut = _only_cut(value) if inside else None
    match target, value:
        case ast.Name(id=table), ast.Dict(keys=keys, values=values):
            for key, one in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and _is_data(one):
                    yield _Named(key.value, table, one, source)
        case ast.Name(id=name), _ if _is_data(value):
            yield _Named(name, "", value, source)
        case ast.Name(id=name) | ast.Attribute(attr=name), _ if cut is not None:
            yield _Named(name, "", cut, source)


def _only_cut(value: ast.expr) -> ast.expr | None:
    """The one cut of a plain name in what is made: `DataLoader(Shards(files[:-2]))`."""
    cuts = [one for one in all_nodes(value, ast.Subscript) if isinstance(one.slice, ast.Slice)]
    is_made = isinstance(value, ast.Call | ast.Subscript)
    return cuts[0] if is_made and len(cuts) == 1 and isinstance(cuts[0].value, ast.Name) else None


def _is_data(value: ast.expr) -> bool:
    """A cut of something: what is loaded from elsewhere may be held out of anything."""
    return isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)


def _are_cut_alike(one: ast.expr, other: ast.expr, body: Sequence[ast.stmt]) -> bool:
    match one, other:
        case (
            ast.Subscript(value=whole, slice=ast.Slice(lower=low, upper=high, step=None)),
            ast.Subscript(value=twin, slice=ast.Slice(lower=from_, upper=to, step=None)),
        ):
            pass
        case _:
            return False
    text = ast.unparse(whole)
    if text != ast.unparse(twin) or _times_given(text, body) > 1:
        return False
    if all(edge is None or isinstance(edge, ast.Constant) for edge in (low, high, from_, to)):
        return _is_start(low) and _is_start(from_)
    is_same = ast.dump(one.slice) == ast.dump(other.slice)
    return is_same or (_is_start(low) and _is_start(from_)) or (high is None and to is None)


def _is_start(edge: ast.expr | None) -> bool:
    return edge is None or (isinstance(edge, ast.Constant) and edge.value == 0)


def _times_given(name: str, body: Sequence[ast.stmt]) -> int:
    stores = (one for statement in body for one in all_nodes(statement, ast.Name))
    return sum(one.id == name and isinstance(one.ctx, ast.Store) for one in stores)


# Reading


def _reads(sources: Sequence[Source], part: _Named) -> bool:
    """Whether anything looks at a part: at its variable, or at its entry, or at the table as a whole."""
    if not part.table:
        return any(_loads(source, part.name) for source in sources)
    for source in sources:
        subscripted = {id(node.value) for node in all_nodes(source.tree, ast.Subscript)}
        if any(id(node) not in subscripted for node in _loads(source, part.table)):
            return True
        if any(node.value == part.name for node in _said(source)):
            return True
    return False


def _loads(source: Source, name: str) -> list[ast.AST]:
    found: list[ast.AST] = []
    for node in all_nodes(source.tree, ast.Name, ast.Attribute):
        is_named = name in (getattr(node, "id", ""), getattr(node, "attr", ""))
        if is_named and not isinstance(getattr(node, "ctx", None), ast.Store):
            found.append(node)
    return found


def _said(source: Source) -> Iterator[ast.Constant]:
    """The texts of a file, without the keys of tables that are written out."""
    keys = {id(key) for table in all_nodes(source.tree, ast.Dict) for key in table.keys if key is not None}
    for node in all_nodes(source.tree, ast.Constant):
        if isinstance(node.value, str) and id(node) not in keys:
            yield node


def _names_held_out_data(sources: Sequence[Source], held: Sequence[_Named]) -> bool:
    """Whether held-out data are called or opened in some other way: `get_batch("val")`, `"dev.txt"`."""
    own = {part.name for part in held if not part.table}
    for source in sources:
        for node in _said(source):
            spoken = set(words(str(node.value)))
            is_file = bool(_FILE.search(str(node.value))) and bool(spoken & HELD_OUT)
            if is_file or (_says(str(node.value), HELD_OUT) and not _is_option(str(node.value))):
                return True
        for name in _parameters_and_loops(source):
            if name not in own and _says(name, HELD_OUT - {"eval", "test"}):
                return True
    return False


def _is_option(text: str) -> bool:
    return text.startswith("-")


def _parameters_and_loops(source: Source) -> Iterator[str]:
    """The names that data come in by from outside of a body."""
    for node in all_nodes(source.tree, *FunctionNode.__args__):
        yield from (arg.arg for arg in (*node.args.args, *node.args.kwonlyargs))
    for loop in all_nodes(source.tree, ast.For):
        yield from (one.id for one in ast.walk(loop.iter) if isinstance(one, ast.Name))
