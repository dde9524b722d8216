"""Counts that an average of weights goes by, wherever they are kept, and that no checkpoint brings back.

The function that blends the weights says which number it is: the decay is made of it, or the first updates
copy the network. Whether the number comes back is asked of every place in the program that stores it: an
attribute of any object, an entry of a table, a variable around a closure.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from stethoscope.program.index import Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.resume.lost_counts import AVERAGING, BLENDING, DECAY_WORDS, EVERYTHING, LostCount
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

WEIGHTS = frozenset({"parameters", "named_parameters", "state_dict", "buffers", "values", "items", "zip"})
COPIES = frozenset({"load_state_dict", "copy_", "deepcopy", "clone", "detach"})
DECAYS = (DECAY_WORDS | {"exp", "pow"}) - {"ema"}
GROWTH = (ast.Div, ast.Pow, ast.FloorDiv)

Slot = tuple[str, str]  # "attribute", "entry" or "variable", and the name


@remembered
def unrestored_counts(index: Index) -> tuple[LostCount, ...]:
    """Every count that an average goes by and that begins anew where its weights come back."""
    sources = [source for source in index.program if not is_test(source)]
    if not any(_speaks_of(source, BLENDING) for source in sources):
        return ()
    restored = [site for source in sources for site in _restored(source)]
    if not restored:
        return ()
    blending = [source for source in sources if _speaks_of(source, BLENDING)]
    asked = dict.fromkeys(
        slot
        for source in blending
        for function in all_nodes(source.tree, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(function, FunctionNode)
        for slot in _gone_by(function)
    )
    stores = _Stores()
    for source in _naming(asked, sources):
        _collect_counts(source, stores)
    counts = {slot: stores.raised[slot] for slot in asked if slot in stores.begun and slot in stores.raised}
    for source in _naming(counts, sources):
        _collect_given(source, stores)
    return tuple(
        LostCount(restored[0], counted, slot[1], "")
        for slot, counted in counts.items()
        if slot not in stores.given and not _is_filled(counted)
    )


def _naming(slots: Iterable[Slot], sources: Sequence[Source]) -> list[Source]:
    """The files in which any of these slots is named."""
    names = {name for _, name in slots}
    return [source for source in sources if any(name in source.text for name in names)]


def _speaks_of(source: Source, names: frozenset[str]) -> bool:
    return any(f"{name}(" in source.text for name in names)


# --- the average that comes back


def _restored(source: Source) -> Iterator[Site]:
    """The places where averaged weights are put back from a file, and not copied from the network."""
    if "load_state_dict" not in source.text:
        return
    for node in all_nodes(source.tree):
        match node:
            case ast.Call(func=ast.Attribute(value=holder, attr="load_state_dict"), args=[given, *_]):
                is_copy = isinstance(given, ast.Call) and (dotted(given.func) or "").endswith("state_dict")
                spoken = _spoken(holder) | (_spoken(given) if isinstance(given, ast.Subscript) else set())
                if not is_copy and spoken & AVERAGING:
                    yield Site(source, node)


def _spoken(node: ast.AST) -> set[str]:
    found: set[str] = set()
    for inner in all_nodes(node):
        text = getattr(inner, "attr", None) or getattr(inner, "id", None) or getattr(inner, "value", None)
        if isinstance(text, str):
            found.update(words(text))
    return found


# --- what the blending goes by


def _gone_by(function: FunctionNode) -> Iterator[Slot]:
    """The numbers that a function which blends weights computes its decay from, or begins by."""
    nodes = list(all_nodes(function))
    blends = [call for node in nodes for call in _blended(node)]
    if not blends:
        return
    assigned: dict[str, list[ast.expr]] = defaultdict(list)
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assigned[node.targets[0].id].append(node.value)
    for call in blends:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        for value in _behind(given, assigned):
            yield from _in_growth(value)
    for node in nodes:
        if isinstance(node, ast.If) and _begins(node, blends):
            yield from (slot for inner in all_nodes(node.test) if (slot := slot_of(inner)) is not None)


def _blended(node: ast.AST) -> Iterator[ast.Call]:
    """Blending calls in a loop over weights, or over all of them at once."""
    if isinstance(node, ast.For) and WEIGHTS & _names(node.iter):
        for inner in all_nodes(node):
            if isinstance(inner, ast.Call) and getattr(inner.func, "attr", "") in BLENDING:
                yield inner
    elif isinstance(node, ast.Call):
        name = (dotted(node.func) or "").rpartition(".")[2]
        if name in {"_foreach_lerp_", "_foreach_mul_"} or AVERAGING & set(words(name)):
            yield node  # update_ema(average, network, decay)


def _behind(given: Sequence[ast.expr], assigned: dict[str, list[ast.expr]]) -> Iterator[ast.expr]:
    """Expressions, and those that the variables in them were given."""
    waiting, seen = list(given), set[str]()
    while waiting:
        value = waiting.pop()
        yield value
        for inner in all_nodes(value):
            if isinstance(inner, ast.Name) and inner.id not in seen:
                seen.add(inner.id)
                waiting.extend(assigned.get(inner.id, ()))


def _in_growth(value: ast.expr) -> Iterator[Slot]:
    """The numbers in a quotient, a power or an exponential."""
    for node in all_nodes(value):
        name = (dotted(node.func) or "").rpartition(".")[2] if isinstance(node, ast.Call) else ""
        if (DECAYS & set(words(name))) or (isinstance(node, ast.BinOp) and isinstance(node.op, GROWTH)):
            yield from (slot for inner in all_nodes(node) if (slot := slot_of(inner)) is not None)


def _begins(node: ast.If, blends: Sequence[ast.Call]) -> bool:
    """Whether a condition chooses between blending and a beginning: a copy, or nothing yet."""
    if any(isinstance(inner, ast.Mod) for inner in all_nodes(node.test)):
        return False  # every so many updates
    bodies = {id(inner) for part in (*node.body, *node.orelse) for inner in all_nodes(part)}
    is_around = any(id(call) in bodies for call in blends)
    copies = any(
        isinstance(inner, ast.Call) and getattr(inner.func, "attr", "") in COPIES
        for part in node.body
        for inner in all_nodes(part)
    )
    leaves = isinstance(node.body[-1], ast.Return)
    return copies and (is_around or leaves)


def slot_of(node: ast.AST) -> Slot | None:
    """What is read: an attribute, an entry under a written key, or a variable."""
    if not isinstance(getattr(node, "ctx", None), ast.Load):
        return None
    return _slot(node)


def _slot(node: ast.AST) -> Slot | None:
    match node:
        case ast.Attribute(attr=name):
            return "attribute", name
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            return "entry", name
        case ast.Name(id=name):
            return "variable", name
    return None


# --- where the numbers are stored


@dataclass(slots=True, eq=False)
class _Stores:
    """Slots that begin with a written number, those that are counted up, and those that are given others.

    `plain` are the targets that get a written number or are counted up.
    """

    begun: set[Slot] = field(default_factory=set)
    raised: dict[Slot, Site] = field(default_factory=dict)
    given: set[Slot] = field(default_factory=set)
    plain: set[int] = field(default_factory=set)


SHARING = (ast.Nonlocal, ast.Global)
STORING = (ast.AugAssign, ast.Assign, ast.AnnAssign, ast.Dict)
STORED = (ast.Name, ast.Attribute, ast.Subscript, ast.Starred, ast.List, ast.Tuple)


def _collect_counts(source: Source, stores: _Stores) -> None:
    """Note what begins with a written number and what is counted up."""
    plain = stores.plain
    declared = all_nodes(source.tree, *SHARING)
    shared = {name for node in declared if isinstance(node, SHARING) for name in node.names}
    for node in all_nodes(source.tree, *STORING):
        if isinstance(node, ast.AugAssign) and (slot := _slot(node.target)) is not None:
            if slot[0] != "variable" or slot[1] in shared:
                stores.raised.setdefault(slot, Site(source, node))
            plain.add(id(node.target))
        elif isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                slot = _slot(target)
                if slot is None:
                    continue
                if isinstance(value, ast.Constant):
                    stores.begun.add(slot)
                    plain.add(id(target))
                elif _is_next(target, value):
                    stores.raised.setdefault(slot, Site(source, node))
                    plain.add(id(target))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            is_plain = isinstance(node.value, ast.Constant)
            if is_plain:  # the field of a record
                stores.begun.update({("attribute", node.target.id), ("variable", node.target.id)})
                plain.add(id(node.target))
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    is_number = isinstance(value, ast.Constant)
                    stores.begun.update({("entry", key.value)} if is_number else ())


def _collect_given(source: Source, stores: _Stores) -> None:
    """Note what is given anything else."""
    for call in all_nodes(source.tree, ast.Call):
        stores.given.update(_given_by(call))
    for node in all_nodes(source.tree, *STORED):
        if isinstance(getattr(node, "ctx", None), ast.Store) and id(node) not in stores.plain:
            slot = _slot(node)
            if slot is not None:
                stores.given.add(slot)


def _is_filled(counted: Site) -> bool:
    """Whether the object that a count lies in may be filled as a whole: `vars(self).update(saved)`."""
    node = counted.node
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    if isinstance(target, ast.Attribute):
        names = {name for name in EVERYTHING if name in counted.source.text}
        return bool(names - {"deepcopy"})
    table = dotted(target.value) if isinstance(target, ast.Subscript) else None
    for inner in all_nodes(counted.source.tree) if table else ():
        match inner:
            case ast.Call(func=ast.Attribute(value=holder, attr="update")) if dotted(holder) == table:
                return True
            case ast.Assign(targets=[one], value=ast.Subscript() | ast.BinOp()) if dotted(one) == table:
                return True
            case ast.AugAssign(target=one, op=ast.BitOr()) if dotted(one) == table:
                return True
    return False


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    for target in node.targets:
        if isinstance(target, ast.Tuple | ast.List):
            values = node.value.elts if isinstance(node.value, ast.Tuple | ast.List) else []
            padded = [*values, *[None] * len(target.elts)]
            yield from zip(target.elts, padded, strict=False)
        else:
            yield target, node.value


def _is_next(target: ast.expr, value: ast.expr | None) -> bool:
    """`self.updates = self.updates + 1`."""
    match value:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant()):
            return ast.unparse(left) == ast.unparse(target)
    return False


def _given_by(call: ast.Call) -> Iterator[Slot]:
    """What a call may store: `setattr(ema, "updates", n)`, `Average(net, updates=n)`, `n.fill_(saved)`."""
    name = (dotted(call.func) or "").rpartition(".")[2] or getattr(call.func, "attr", "")
    for keyword in call.keywords:
        if keyword.arg is not None and not isinstance(keyword.value, ast.Constant):
            yield "attribute", keyword.arg
            yield "entry", keyword.arg
    if name == "setattr" and len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
        yield "attribute", str(call.args[1].value)
    if name in {"fill_", "copy_"} and isinstance(call.func, ast.Attribute):
        slot = _slot(call.func.value)
        if slot is not None:
            yield slot


def _names(node: ast.AST) -> set[str]:
    found = (getattr(inner, "attr", getattr(inner, "id", None)) for inner in all_nodes(node))
    return {name for name in found if isinstance(name, str)}
