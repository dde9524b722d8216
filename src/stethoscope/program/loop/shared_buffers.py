"""One buffer in several places of a list where each was to have its own.

`frames.append(state)` keeps the buffer and not what is in it: where `state[i] = ...` follows, every entry is
the last one. `[[]] * n` and `dict.fromkeys(keys, [])` hold one list n times.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Class, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, bodies, own_below, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# fmt: off
MAKING = frozenset({
    "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "rand", "randn",
    "arange", "eye", "tensor", "stack", "cat", "as_tensor", "from_numpy", "array", "asarray",
})
HOLDING = frozenset({"list", "dict", "set", "deque", "defaultdict", "OrderedDict", "Counter"})
GATHERING = frozenset({
    "stack", "cat", "concat", "concatenate", "vstack", "hstack", "array", "asarray", "tensor", "pad_sequence",
})
VIEWING = frozenset({"detach", "view", "squeeze", "unsqueeze", "flatten", "reshape", "t", "transpose"})
FILLING = frozenset({"append", "extend", "add", "update", "appendleft", "insert", "setdefault"})
NOT_IN_PLACE = frozenset({"requires_grad_", "detach_", "share_memory_", "register_"})
# fmt: on


@dataclass(frozen=True, slots=True, eq=False)
class SharedBuffer:
    """Where a buffer gets into a list, where it is written to, and what it is called."""

    source: Source
    kept: ast.AST
    written: ast.AST
    name: str
    repeated: bool = False  # one object for every place of a list


@remembered
def shared_buffers(index: Index) -> tuple[SharedBuffer, ...]:
    """The buffers that are kept in a list and overwritten there, and lists of one object."""
    found: list[SharedBuffer] = []
    for module in index.modules.values():
        if is_test(module.source):
            continue
        for body in bodies(module.source.tree):
            own = [part for part in body if not isinstance(part, FunctionNode | ast.ClassDef)]
            nodes = [one for part in own for one in own_below(part)]
            found.extend(_kept_in_loops(module.source, nodes))
            found.extend(_repeated(module.source, nodes, nodes))
    for cls in index.classes:
        if not is_test(cls.source):
            nodes = [one for each in cls.methods.values() for one in own_nodes(each.node)]
            found.extend(_kept_by_object(cls, nodes))
            found.extend(one for one in _repeated(cls.source, nodes, nodes) if one.name.startswith("self."))
    return tuple(found)


# --- a buffer that is put into a list and written to again


def _kept_in_loops(source: Source, nodes: Sequence[ast.AST]) -> Iterator[SharedBuffer]:
    made = _made(nodes)
    told: set[str] = set()
    loops = (node for node in nodes if isinstance(node, ast.For | ast.While))
    for loop in sorted(loops, key=lambda one: -one.lineno):  # the innermost loop around a place decides
        inside = [one for part in loop.body for one in own_below(part)]
        bound = {ast.unparse(one) for one in _bound_in(loop, inside)}
        for node in inside:
            kept = _appended(node)
            if kept is None or kept[1] in bound | told or kept[1].startswith("self."):
                continue
            listed, name = kept
            is_tensor = name in made or _is_gathered(nodes, listed)
            written = next((one for one in inside if _writes(one, name)), None)
            if is_tensor and written is not None and not _leaves_after(loop, node):
                told.add(name)
                yield SharedBuffer(source, node, written, name)


def _kept_by_object(cls: Class, nodes: Sequence[ast.AST]) -> Iterator[SharedBuffer]:
    """`self.trail.append(self.h)` where `self.h` is made once and changed in place."""
    made = _made(nodes)
    bound = [ast.unparse(one) for one in _assigned(nodes)]
    told: set[str] = set()
    for node in nodes:
        kept = _appended(node)
        if kept is None or not kept[1].startswith("self.") or kept[1] in told:
            continue
        name = kept[1]
        written = next((one for one in nodes if _writes(one, name)), None)
        if name in made and bound.count(name) == 1 and written is not None:
            told.add(name)
            yield SharedBuffer(cls.source, node, written, name)


def _appended(node: ast.AST) -> tuple[str, str] | None:
    """The list and the buffer that a call puts into it without a copy."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name() | ast.Attribute() as listed, attr="append" | "appendleft"),
            args=[given],
        ):
            bare = _viewed(given)
            return (ast.unparse(listed), ast.unparse(bare)) if dotted(bare) else None
    return None


def _viewed(node: ast.expr) -> ast.expr:
    """The buffer behind a view of it."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in VIEWING:
            return _viewed(inner)
        case ast.Attribute(value=inner, attr="data" | "T"):
            return _viewed(inner)
    return node


def _made(nodes: Iterable[ast.AST]) -> set[str]:
    """What is made as a tensor or array: by `torch.zeros` and its like."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=ast.Call() as call) if _makes(call):
                found.add(ast.unparse(target))
    return found


def _makes(call: ast.Call) -> bool:
    home = (dotted(call.func) or "").partition(".")[0]
    if home in {"torch", "np", "numpy"} and bare_name(call) in MAKING:
        return True
    match call.func:
        case ast.Attribute(value=ast.Call() as inner, attr="to" | "cuda" | "clone" | "float"):
            return _makes(inner)
    return False


def _bound_in(loop: ast.For | ast.While, inside: Iterable[ast.AST]) -> Iterator[ast.expr]:
    yield from _assigned(inside)
    if isinstance(loop, ast.For):
        yield from _targets(loop.target)


def _assigned(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """The names that are given something else, not those that are changed where they are."""
    for node in nodes:
        match node:
            case ast.Assign(targets=targets):
                yield from (one for target in targets for one in _targets(target))
            case (
                ast.AnnAssign(target=target)
                | ast.For(target=target)
                | ast.NamedExpr(target=target)
                | ast.withitem(optional_vars=ast.expr() as target)
            ):
                yield from _targets(target)


def _targets(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _targets(one)
    elif isinstance(target, ast.Starred):
        yield target.value
    elif isinstance(target, ast.Name | ast.Attribute):
        yield target


def _writes(node: ast.AST, name: str) -> bool:
    """Whether a node changes a tensor where it is: `h[i] = x`, `h.mul_(2)`, `out=h`."""
    match node:
        case ast.Subscript(value=inner, ctx=ast.Store()):
            return ast.unparse(inner) == name
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method.endswith("_"):
            is_change = not method.endswith("__") and method not in NOT_IN_PLACE
            return is_change and ast.unparse(_sliced(inner)) == name
        case ast.keyword(arg="out", value=given):
            return ast.unparse(given) == name
        case ast.Call(args=[first, _, *_]) if bare_name(node) == "copyto":
            return ast.unparse(first) == name
    return False


def _sliced(node: ast.expr) -> ast.expr:
    return _sliced(node.value) if isinstance(node, ast.Subscript) else node


def _is_gathered(nodes: Iterable[ast.AST], listed: str) -> bool:
    """Whether a list is made one tensor later."""
    return any(
        isinstance(node, ast.Call)
        and bare_name(node) in GATHERING
        and any(ast.unparse(one) == listed for one in node.args)
        for node in nodes
    )


def _leaves_after(loop: ast.For | ast.While, node: ast.AST) -> bool:
    """Whether the loop is left where the buffer was kept: then it is written to no more."""
    for holder in own_below(loop):
        for name in ("body", "orelse"):
            block = getattr(holder, name, None)
            if holder is loop or not isinstance(block, list):
                continue
            around = [at for at, one in enumerate(block) if any(each is node for each in own_below(one))]
            rest = block[around[0] + 1 :] if around else []
            if any(isinstance(one, ast.Break | ast.Return | ast.Raise) for one in rest):
                return True
    return False


# --- one object for every place of a list


def _repeated(source: Source, nodes: Sequence[ast.AST], uses: Sequence[ast.AST]) -> Iterator[SharedBuffer]:
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
                one = _one_for_all(value)
                name = ast.unparse(target)
                filled = _filled(uses, name, node.lineno) if one is not None else None
                if filled is not None:
                    yield SharedBuffer(source, node, filled, name, repeated=True)


def _one_for_all(value: ast.expr) -> ast.expr | None:
    """The one object that `[x] * n`, `n * [x]` or `dict.fromkeys(keys, x)` puts everywhere."""
    match value:
        case (
            ast.BinOp(op=ast.Mult(), left=ast.List(elts=[only]), right=times)
            | ast.BinOp(op=ast.Mult(), left=times, right=ast.List(elts=[only]))
        ):
            several = not (isinstance(times, ast.Constant) and times.value == 1)
            return only if several and _is_changeable(only) else None
        case ast.Call(func=ast.Attribute(value=ast.Name(id="dict"), attr="fromkeys"), args=[_, only]):
            return only if _is_changeable(only) else None
    return None


def _is_changeable(node: ast.expr) -> bool:
    """Whether an expression makes something that can be changed in place."""
    if isinstance(node, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp):
        return True
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List)
    return isinstance(node, ast.Call) and (bare_name(node) in HOLDING or _makes(node))


def _filled(nodes: Iterable[ast.AST], name: str, line: int) -> ast.AST | None:
    """Where one place of the list is written to as if it were its own."""
    listed = list(nodes)
    items = {item for node in listed for item in _items_of(node, name)}
    own = _given_own(listed, name)
    for node in listed:
        match node:
            case ast.Call(func=ast.Attribute(value=place, attr=method)):
                changes = method in FILLING or (method.endswith("_") and method not in NOT_IN_PLACE)
                is_own = own.get(ast.unparse(place), node.lineno) < node.lineno
                if changes and _is_place(place, name, items) and not is_own:
                    return node
            case ast.Subscript(value=place, ctx=ast.Store()) if _is_place(place, name, items):
                return node
            case ast.AugAssign(target=ast.Subscript(value=inner)) if ast.unparse(inner) == name:
                return node
    return None


def _given_own(nodes: Iterable[ast.AST], name: str) -> dict[str, int]:
    """The places of the list that are given an object of their own, and in which line first."""
    found: dict[str, int] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Subscript(value=of) as place], value=value):
                if ast.unparse(of) == name and _is_changeable(value):
                    found[ast.unparse(place)] = min(node.lineno, found.get(ast.unparse(place), node.lineno))
    return found


def _is_place(node: ast.expr, name: str, items: set[str]) -> bool:
    """`x[i]`, or the name under which a loop hands out the places of `x`."""
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value) == name and not isinstance(node.slice, ast.Slice)
    return isinstance(node, ast.Name) and node.id in items


def _items_of(node: ast.AST, name: str) -> Iterator[str]:
    match node:
        case ast.For(target=ast.Name(id=item), iter=over) if ast.unparse(over) == name:
            yield item
        case ast.For(
            target=ast.Tuple(elts=targets),
            iter=ast.Call(func=ast.Name(id="zip" | "enumerate" as how), args=over),
        ):
            shifted: list[ast.expr | None] = [None, *over] if how == "enumerate" else list(over)
            for target, each in zip(targets, shifted, strict=False):
                if isinstance(target, ast.Name) and each is not None and ast.unparse(each) == name:
                    yield target.id
