"""The place in the data that a checkpoint keeps and a resume does not take up again.

Three ways are read off the source. What a checkpoint holds of a stream of data may never be handed back to
it; the `load_state_dict` of a class that deals out data may leave out part of what its `state_dict` gave; and
the state of the random numbers may be kept and never set, in a program that seeds itself at its start.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import Role, class_role
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# fmt: off
DATA_WORDS = frozenset({
    "stream", "streams", "sampler", "samplers", "loader", "dataloader", "feeder", "feed", "draws", "batches",
    "batcher", "iterator", "dataset", "data", "reader", "shuffler", "pipeline", "queue", "corpus",
})
DEALING = frozenset({
    "__iter__", "__next__", "next", "next_batch", "get_batch", "batches", "batch", "draw", "sample", "take",
})
PLACES = frozenset({"position", "cursor", "order", "permutation", "perm", "offset", "pointer", "consumed"})
# fmt: on
OTHER_ROLES = frozenset({Role.AVERAGE, Role.OPTIMIZER, Role.SCHEDULER, Role.SCALER, Role.MODEL})
GETTING = frozenset({"get_rng_state", "get_state", "getstate", "get_rng_state_all"})
SETTING = frozenset({"set_rng_state", "set_state", "setstate", "set_rng_state_all"})
SEEDING = frozenset({"manual_seed", "seed", "set_seed", "seed_everything"})
SAVING = re.compile(r"(?:^|_)state(?:_dict)?$|^get_state$|^__getstate__$")
RESTORING = re.compile(r"^(?:load|restore|resume|set|recover)(?:_|$)")


@dataclass(frozen=True, slots=True, eq=False)
class LostPlace:
    """Something that is kept and not restored: where it is kept, and where it should have come back."""

    source: Source
    kept: ast.AST
    name: str
    loading: ast.AST | None = None


def never_handed_back(index: Index) -> Iterator[LostPlace]:
    """The states of data that are put into a checkpoint under a key that nothing reads."""
    sources = [module.source for module in index.modules.values() if not is_test(module.source)]
    read = {key for source in sources for key in _keys_read(source.tree)}
    given_back = {name for source in sources for name in _given_back(source.tree)}
    for source in sources:
        for node in all_nodes(source.tree):
            for key, holder in _kept_states(node):
                if key not in read and holder not in given_back and not _takes_all(sources):
                    yield LostPlace(source, node, holder)


def _kept_states(node: ast.AST) -> Iterator[tuple[str, str]]:
    """`{"stream": stream.state_dict()}` and `state["stream"] = stream.state_dict()`."""
    for key, value in _pairs(node):
        holder = _state_of(value)
        if holder and DATA_WORDS & set(words(holder)):
            yield key, holder


def _pairs(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The written keys of a table with what they are given."""
    pairs: list[tuple[ast.expr | None, ast.expr]] = []
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = list(zip(keys, values, strict=True))
        case ast.Assign(targets=[ast.Subscript(slice=place)], value=stored):
            pairs = [(place, stored)]
        case ast.Call(func=ast.Name(id="dict"), keywords=given):
            pairs = [(ast.Constant(one.arg), one.value) for one in given if one.arg]
    for key, value in pairs:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


def _state_of(value: ast.expr) -> str:
    """The last name of the object whose state a call gives."""
    match value:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr="state_dict")
        ):
            return name
    return ""


def _keys_read(tree: ast.AST) -> Iterator[str]:
    """The keys that are taken out of tables: `state["stream"]`, `state.get("stream")`."""
    for node in all_nodes(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str() as key), ctx=ast.Load()):
                yield key
            case ast.Call(
                func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=str() as key), *_]
            ):
                yield key


def _given_back(tree: ast.AST) -> Iterator[str]:
    """The objects that get a state: `stream.load_state_dict(...)`."""
    for node in all_nodes(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=method)
            ):
                if RESTORING.match(method):
                    yield name


def _takes_all(sources: list[Source]) -> bool:
    """Whether what a checkpoint holds is gone through key by key, so that no key is written."""
    return any(
        isinstance(node, ast.For)
        and isinstance(node.iter, ast.Call)
        and isinstance(node.iter.func, ast.Attribute)
        and node.iter.func.attr == "items"
        and "load_state_dict" in ast.unparse(node)
        for source in sources
        for node in all_nodes(source.tree)
    )


def chance_begun_anew(index: Index) -> Iterator[LostPlace]:
    """The states of random numbers that are kept and never set, though the program begins with a seed."""
    sources = [module.source for module in index.modules.values() if not is_test(module.source)]
    called = {_last(node.func) for source in sources for node in all_nodes(source.tree, ast.Call)}
    if called & SETTING or not called & SEEDING:
        return
    read = {key for source in sources for key in _keys_read(source.tree)}
    for source in sources:
        for node in all_nodes(source.tree):
            for key, value in _pairs(node):
                if key not in read and isinstance(value, ast.Call) and _last(value.func) in GETTING:
                    yield LostPlace(source, value, key)


def _last(node: ast.expr) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def left_out_on_loading(index: Index) -> Iterator[LostPlace]:
    """What a class that deals out data gives as its state and does not take back."""
    for cls in index.classes:
        if is_test(cls.source) or class_role(index, cls) in OTHER_ROLES:
            continue
        saving = next((one for name, one in cls.methods.items() if SAVING.search(name)), None)
        loading = next((one for name, one in cls.methods.items() if _loads_state(name)), None)
        if saving is None or loading is None:
            continue
        kept = dict(_own_keys(saving))
        taken = set(_keys_read(loading.node)) | _attributes_set(loading)
        if not kept or not _deals_out_data(cls, kept) or _takes_whole(loading) or _hands_on(loading):
            continue
        for key, node in kept.items():
            if key not in taken:
                yield LostPlace(cls.source, node, key, loading.node)


def _loads_state(name: str) -> bool:
    return name in {"load_state_dict", "load_state", "set_state", "__setstate__", "restore", "restore_state"}


def _deals_out_data(cls: Class, kept: Iterable[str]) -> bool:
    """Whether objects of a class go through data: by what they do, and what they are or keep."""
    named = DATA_WORDS & set(words(cls.name)) or PLACES & {word for key in kept for word in words(key)}
    return bool(DEALING & cls.methods.keys()) and bool(named)


def _own_keys(saving: Function) -> Iterator[tuple[str, ast.AST]]:
    """The keys of the table that a method gives back, where it is written in one piece."""
    returned = [node.value for node in own_nodes(saving.node, ast.Return)]
    if len(returned) != 1:
        return
    match returned[0]:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and _is_state(value):
                    yield key.value, value
        case ast.Call(func=ast.Name(id="dict"), keywords=given):
            yield from ((one.arg, one.value) for one in given if one.arg and _is_state(one.value))


def _is_state(value: ast.expr) -> bool:
    """Whether a value is read off the object: a version or a name that is written down is not its state."""
    return any(isinstance(node, ast.Name) and node.id == "self" for node in all_nodes(value))


def _attributes_set(loading: Function) -> set[str]:
    """The attributes that a state is told to, for states that are objects: `self.cursor = state.cursor`."""
    return {node.attr for node in own_nodes(loading.node, ast.Attribute) if _is_read(node)}


def _is_read(node: ast.Attribute) -> bool:
    is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
    return isinstance(node.ctx, ast.Load) and not is_own


def _takes_whole(loading: Function) -> bool:
    """Whether the whole state is taken at once: `self.__dict__.update(state)`, `for key in state`."""
    parameter = next((one for one in loading.parameters if one != "self"), "")
    for node in own_nodes(loading.node):
        match node:
            case ast.For(iter=over) if parameter in _names(over):
                return True
            case ast.Call(func=ast.Attribute(attr="update"), args=[ast.Name(id=name)]) if name == parameter:
                return True
            case ast.keyword(arg=None, value=ast.Name(id=name)) if name == parameter:
                return True
    return False


def _hands_on(loading: Function) -> bool:
    """Whether the state is handed to code that may take the rest of it."""
    parameter = next((one for one in loading.parameters if one != "self"), "")
    for node in own_nodes(loading.node):
        if isinstance(node, ast.Call) and any(
            isinstance(one, ast.Name) and one.id == parameter for one in node.args
        ):
            return True
    return not parameter


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in all_nodes(node, ast.Name)}
