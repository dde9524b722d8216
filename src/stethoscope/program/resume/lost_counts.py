"""Averages of weights whose count of updates does not come back with them.

The decay of most averages is computed from the number of updates, or the first update copies the network. A
resume that puts the averaged weights back and not that number begins the warm-up anew. The number may be kept
by a class of the program, by one of a library, or by the loop itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

# fmt: off
AVERAGING = frozenset({
    "ema", "emas", "swa", "averaged", "average", "averaging", "polyak", "shadow", "shadows", "avg",
})
EVERYTHING = frozenset({"__dict__", "vars", "setattr", "__setstate__", "asdict", "deepcopy"})
LOADS = frozenset({"load_state_dict", "load_state", "load_shadow", "set_state"})
SAVES = frozenset({"state_dict", "state", "get_state"})
BLENDING = frozenset({"lerp_", "lerp", "_foreach_lerp_", "_foreach_mul_", "mul_", "mul"})
DECAY_WORDS = frozenset({"decay", "ema", "beta", "momentum", "ramp", "warmup"})
# fmt: on
# Averages of libraries: the piece that holds the weights, and the numbers without which it begins anew.
LIBRARY = {
    "AveragedModel": ("torch", "module", ("n_averaged",)),
    "EMAModel": ("diffusers", "shadow_params", ("optimization_step",)),
    "ExponentialMovingAverage": ("torch_ema", "shadow_params", ("num_updates",)),
    "EMA": ("ema_pytorch", "ema_model", ("step", "initted")),
    "ModelEMA": ("ultralytics", "ema", ("updates",)),
}


@dataclass(frozen=True, slots=True, eq=False)
class LostCount:
    """Where averaged weights come back, where their updates are counted, and by what name."""

    restored: Site
    counted: Site
    name: str
    owner: str


@remembered
def lost_counts(index: Index) -> tuple[LostCount, ...]:
    """Every average that comes back without the count of its updates."""
    sources = [source for source in index.program if not is_test(source)]
    classes = [cls for cls in index.classes if not is_test(cls.source) and _averages(cls)]
    kept = {cls: numbers for cls in classes if (numbers := counts(cls))}
    known = [made for made in LIBRARY if any(f"{made}(" in source.text for source in sources)]
    pieces = list(_pieces([source for source in sources if "load" in source.text])) if kept or known else []
    looping = [source for source in sources if "load_state_dict" in source.text and _counts_up(source)]
    found = [
        *_of_classes(index, kept, sources, pieces),
        *_of_libraries(sources, pieces, known),
        *(one for source in looping for one in _of_loops(source)),
    ]
    return tuple({id(one.restored.node): one for one in reversed(found)}.values())


def _counts_up(source: Source) -> bool:
    return "+= 1" in source.text and (_blends(source) or "ema(" in source.text)


@lru_cache(maxsize=64)
def _blends(source: Source) -> bool:
    return any(f"{name}(" in source.text for name in BLENDING)


# --- what is put back


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Something put back from outside: `path` is what gets it, by its names: self, ema, module."""

    path: tuple[str, ...]
    site: Site
    is_loaded: bool  # by load_state_dict, else by an assignment


def _pieces(sources: Sequence[Source]) -> Iterator[_Piece]:
    for source in sources:
        for node in all_nodes(source.tree, ast.Call, ast.Assign, ast.For):
            match node:
                case ast.Call(func=ast.Attribute(value=holder, attr="load_state_dict")):
                    path = dotted(holder)
                    if path:
                        yield _Piece(tuple(path.split(".")), Site(source, node), True)
                case ast.Assign(targets=[ast.Attribute() as target], value=value):
                    path = dotted(target)
                    if path and not isinstance(value, ast.Constant) and _is_read(value):
                        yield _Piece(tuple(path.split(".")), Site(source, node), False)
            for into, given in _copied(node):
                path = dotted(into)
                if path and _is_read(given):
                    yield _Piece(tuple(path.split(".")), Site(source, node), False)


def _copied(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Tensors that are copied one by one: `for a, b in zip(ema.shadow, saved["ema"]): a.copy_(b)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="_foreach_copy_"), args=[into, given, *_]):
            yield _owner(into), given
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=old), ast.Name()]),
            iter=ast.Call(func=ast.Name(id="zip"), args=[into, given, *_]),
        ):
            for inner in all_nodes(node):
                match inner:
                    case ast.Call(func=ast.Attribute(value=holder, attr="copy_")) if old in _names(holder):
                        yield _owner(into), given
                        return


def _owner(tensors: ast.expr) -> ast.expr:
    """What holds tensors: `ema.module` of `ema.module.parameters()`."""
    if isinstance(tensors, ast.Call) and isinstance(tensors.func, ast.Attribute):
        return tensors.func.value
    return tensors


def _is_read(value: ast.expr) -> bool:
    """Whether a value is taken out of something by a key, as out of a checkpoint."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        for node in all_nodes(value)
    )


def _holders(sources: Sequence[Source], made: str) -> dict[str, ast.Call]:
    """The names that objects of a class are kept under, each with the call that makes one."""
    found: dict[str, ast.Call] = {}
    for source in sources:
        if made not in source.text:
            continue
        for node in all_nodes(source.tree):
            if not isinstance(node, ast.Assign):
                continue
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                for one, value in pairs:
                    call = _made(value, made)
                    name = dotted(one) or ""
                    if call is not None and name:
                        found[name.rpartition(".")[2]] = call
    return found


def _made(value: ast.expr, made: str) -> ast.Call | None:
    if isinstance(value, ast.IfExp):
        return _made(value.body, made) or _made(value.orelse, made)
    while isinstance(value, ast.Call):
        if (dotted(value.func) or "").rpartition(".")[2] == made:
            return value
        if not isinstance(value.func, ast.Attribute):  # `Average(net).to(device)`
            return None
        value = value.func.value
    return None


def _is_set(sources: Sequence[Source], name: str, own: Class | None) -> bool:
    """Whether anything but the class itself gives the count a value: `ema.updates = saved["updates"]`."""
    for source in sources:
        if name not in source.text:
            continue
        for node in all_nodes(source.tree):
            match node:
                case ast.Attribute(value=base, attr=stored, ctx=ast.Store()) if stored == name:
                    if own is None or dotted(base) != "self":
                        return True
            if isinstance(node, ast.Call):
                method = getattr(node.func, "attr", "")
                holder = node.func.value if isinstance(node.func, ast.Attribute) else None
                is_filled = method in {"copy_", "fill_"} and getattr(holder, "attr", "") == name
                is_named = any(getattr(arg, "value", None) == name for arg in node.args[1:2])
                if is_filled or (getattr(node.func, "id", "") == "setattr" and is_named):
                    return True
    return False


# --- classes of the program


def _of_classes(
    index: Index,
    kept: Mapping[Class, Mapping[str, ast.AST]],
    sources: Sequence[Source],
    pieces: Sequence[_Piece],
) -> Iterator[LostCount]:
    for cls, numbers in kept.items():
        for name, counted in numbers.items():
            restored = _restored_without(index, cls, name, sources, pieces)
            if restored is not None and not _is_set(sources, name, cls):
                yield LostCount(restored, Site(cls.source, counted), name, cls.name)


def _averages(cls: Class) -> bool:
    if AVERAGING & set(words(cls.name)):
        return True
    if not _blends(cls.source):
        return False
    taken = {node.attr for node in all_nodes(cls.node, ast.Attribute)}
    return not BLENDING.isdisjoint(taken) and any(
        not {"shadow", "ema", "averaged"}.isdisjoint(words(name)) for name in taken
    )


def _is_handed(load: Function, name: str) -> bool:
    """Whether who loads the weights hands in the number beside them: `load_state_dict(state, updates)`."""
    beside = set(load.parameters[2:])
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Attribute) and target.attr == name for target in node.targets)
        and any(isinstance(inner, ast.Name) and inner.id in beside for inner in all_nodes(node.value))
        for node in all_nodes(load.node)
    )


def _restored_without(
    index: Index, cls: Class, name: str, sources: Sequence[Source], pieces: Sequence[_Piece]
) -> Site | None:
    """Where objects of a class get their weights back and not this number."""
    load = next((cls.methods[one] for one in LOADS if one in cls.methods), None)
    save = next((cls.methods[one] for one in SAVES if one in cls.methods), None)
    if load is not None and _is_handed(load, name):
        return None
    if load is not None:
        missing = [method for method in (load, save) if method is not None and not _keeps(method, name)]
        return Site(cls.source, missing[0].node) if missing else None
    if any(_keeps(method, name) for method in cls.methods.values() if _sets_state(method)):
        return None
    holders = _holders(sources, cls.name)
    if any(_is_given(cls, call, name) for call in holders.values()):
        return None
    is_module = any(base.rpartition(".")[2].endswith("Module") for base in index.outside_bases(cls))
    own = _own_attributes(cls)
    for piece in pieces:
        place = next((i for i, part in enumerate(piece.path) if part in holders), None)
        if place is None or (piece.site.source is cls.source and _is_inside(piece.site.node, cls.node)):
            continue
        rest = piece.path[place + 1 :]
        if len(rest) == 1 and rest[0] in own and rest[0] != name:
            return piece.site
        if not rest and piece.is_loaded and is_module:
            return piece.site
    return None


def _sets_state(method: Function) -> bool:
    return bool({"load", "setstate", "state", "resume"} & set(words(method.name)))


def _is_given(cls: Class, call: ast.Call, name: str) -> bool:
    """Whether the maker of an object tells it the count: `Average(net, updates=saved["updates"])`."""
    init = cls.methods.get("__init__")
    if init is None:
        return True
    sources = {
        node.value.id
        for node in all_nodes(init.node, ast.Assign)
        if isinstance(node.value, ast.Name) and any(_own_attribute(target) == name for target in node.targets)
    }
    given = {keyword.arg for keyword in call.keywords} | set(init.parameters[1 : len(call.args) + 1])
    return bool(given & sources) or None in given


def _own_attributes(cls: Class) -> set[str]:
    return {
        node.attr
        for node in all_nodes(cls.node, ast.Attribute)
        if isinstance(node.ctx, ast.Store) and dotted(node.value) == "self"
    }


def _is_inside(node: ast.AST, cls: ast.ClassDef) -> bool:
    return cls.lineno <= getattr(node, "lineno", 0) <= (cls.end_lineno or 0)


def counts(cls: Class) -> dict[str, ast.AST]:
    """The plain numbers that methods count up and that something else in the class reads."""
    init = cls.methods.get("__init__")
    numbers = set(_plain_numbers(init)) if init is not None else set()
    found: dict[str, ast.AST] = {}
    reads: dict[str, int] = {}
    for method in cls.methods.values():
        if method.name in {"__init__", "__repr__", *LOADS, *SAVES}:
            continue
        for node in all_nodes(method.node):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                name = _own_attribute(node.target)
                if name in numbers:
                    found.setdefault(name, node)
            elif isinstance(node, ast.Assign):  # `self.updates = self.updates + 1`
                name = _own_attribute(node.targets[0])
                if name in numbers and _adds_to(node.value, name):
                    found.setdefault(name, node)
                    reads[name] = reads.get(name, 0) - 1
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                reads[_own_attribute(node)] = reads.get(_own_attribute(node), 0) + 1
    return {name: node for name, node in found.items() if reads.get(name, 0) > 0}


def _adds_to(value: ast.expr, name: str) -> bool:
    match value:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return name in {_own_attribute(left), _own_attribute(right)}
    return False


def _plain_numbers(init: Function) -> Iterator[str]:
    """`self.updates = 0`; a buffer or tensor is saved with its module."""
    for node in all_nodes(init.node):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                for one, value in pairs:
                    if _is_plain(value):
                        yield _own_attribute(one)


def _is_plain(value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):  # `0 if use_num_updates else None`
        return _is_plain(value.body) and _is_plain(value.orelse)
    return isinstance(value, ast.Constant | ast.Name) and not isinstance(getattr(value, "value", 0), str)


def _own_attribute(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) and dotted(node.value) == "self" else ""


def _keeps(method: Function, name: str) -> bool:
    """Whether a method speaks of the count, or takes everything there is."""
    for node in all_nodes(method.node):
        spoken = getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "value", None)
        if isinstance(spoken, str) and (spoken == name or spoken in EVERYTHING):
            return True
    return False


# --- classes of libraries


def _of_libraries(
    sources: Sequence[Source], pieces: Sequence[_Piece], known: Sequence[str]
) -> Iterator[LostCount]:
    for made in known:
        package, inner, numbers = LIBRARY[made]
        using = [source for source in sources if made in source.text and package in source.text]
        holders = _holders(using, made)
        if not holders or any(_is_set(sources, number, None) for number in numbers):
            continue
        kept = {name for name in holders if any(p.path[-1] == name and p.is_loaded for p in pieces)}
        passed = {name for name in holders if AVERAGING & set(words(name))}
        for piece in pieces:
            held = piece.path[-2] if len(piece.path) > 1 and piece.path[-1] == inner else ""
            if held in (set(holders) | passed) - kept:
                call = holders[held]
                source = next(one for one in using if any(node is call for node in all_nodes(one.tree)))
                yield LostCount(piece.site, Site(source, call), numbers[0], made)


# --- numbers that the loop itself counts


def _of_loops(source: Source) -> Iterator[LostCount]:
    for body in _bodies(source):
        nodes = [node for statement in body for node in all_nodes(statement)]
        restored = [node for node in nodes if _restores_average(node)]
        loops = [node for node in nodes if isinstance(node, ast.For | ast.While)]
        if not restored or not loops:
            continue
        for name, counted in _counted(nodes, loops).items():
            for blended in _decays(nodes, name):
                if _is_blended_with(nodes, blended):
                    yield LostCount(Site(source, restored[0]), Site(source, counted), name, "")
                    break


def _bodies(source: Source) -> Iterator[list[ast.stmt]]:
    tree = source.tree
    yield [node for node in tree.body if not isinstance(node, FunctionNode | ast.ClassDef)]
    for node in all_nodes(tree):
        if isinstance(node, FunctionNode):
            yield node.body


def _restores_average(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=holder, attr="load_state_dict")):
            return bool(AVERAGING & {word for name in _names(holder) for word in words(name)})
    return False


def _counted(nodes: Sequence[ast.AST], loops: Sequence[ast.For | ast.While]) -> dict[str, ast.AST]:
    """The names that loops count up and that get nothing but a written number besides."""
    inside = {id(node) for loop in loops for node in all_nodes(loop)}
    found: dict[str, ast.AST] = {}
    other: set[str] = set()
    begun: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and id(node) in inside:
            found[node.target.id] = node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple):
                    values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value] * 9
                    pairs = list(zip(target.elts, values, strict=False))
                for one, value in pairs:
                    if isinstance(one, ast.Name):
                        (begun if isinstance(value, ast.Constant) else other).add(one.id)
    return {name: node for name, node in found.items() if name in begun - other}


def _decays(nodes: Sequence[ast.AST], count: str) -> Iterator[str]:
    """The variables that are a quotient, a power or a named decay of the count."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _makes_decay(value, count):
                yield name


def _makes_decay(value: ast.expr, count: str) -> bool:
    for node in all_nodes(value):
        match node:
            case ast.BinOp(op=ast.Div() | ast.Pow(), left=left, right=right):
                if count in {*_names(left), *_names(right)}:
                    return True
            case ast.Call(func=func, args=args):
                called = {word for name in _names(func) for word in words(name)}
                given = {name for arg in args for name in _names(arg)}
                if count in given and called & (DECAY_WORDS | {"exp"}):
                    return True
    return False


def _is_blended_with(nodes: Sequence[ast.AST], decay: str) -> bool:
    """Whether weights are blended by a variable: `old.mul_(d)`, `old.lerp_(w, 1 - d)`, `update_ema(n, d)`."""
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        given = (*node.args, *(keyword.value for keyword in node.keywords))
        if not any(decay in _names(arg) for arg in given):
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        spoken = {word for name in _names(node.func) for word in words(name)}
        if called in BLENDING or spoken & AVERAGING:
            return True
    return False


def _names(node: ast.AST) -> set[str]:
    found = (getattr(inner, "attr", getattr(inner, "id", None)) for inner in all_nodes(node))
    return {name for name in found if isinstance(name, str)}
