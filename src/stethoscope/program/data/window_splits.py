"""Windows of one series that overlap, and are dealt out at random to training and validation.

Neighbours share all but one value: a random split puts nearly every held-out window between two that are
trained on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.data.leaks import Leak
from stethoscope.program.index import Class, Index, Module, dotted
from stethoscope.program.syntax import all_nodes, bodies, functions
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test

SPLITS = frozenset({"random_split", "train_test_split"})
ORDERS = frozenset({"permutation", "randperm", "shuffle", "sample", "KFold"})
WRAPPERS = frozenset(
    {"TensorDataset", "array", "stack", "tensor", "from_numpy", "asarray", "list", "float", "Tensor"}
)


def dealt_windows(index: Index) -> Iterator[Leak]:
    """Every random split of windows that overlap."""
    windowed = {cls.name: item for cls in index.classes if (item := _overlapping_items(cls)) is not None}
    makers = {name: node for module in index.modules.values() for name, node in _window_makers(module)}
    for module in index.modules.values():
        if is_test(module.source):
            continue
        # What a function splits stands in the body of its module, too.
        found = {
            leak.held_out: leak
            for body in bodies(module.source.tree)
            for leak in _in_body(module, body, windowed.keys() | makers.keys())
        }
        yield from found.values()


def _in_body(module: Module, body: Sequence[ast.stmt], windowed: set[str]) -> Iterator[Leak]:
    assigned = [one for statement in body for one in all_nodes(statement, ast.Assign)]
    made = _windows(assigned, windowed)
    mixed = _mixed(assigned)
    if made and mixed:
        yield from _dealt_by_places(module, body, made, mixed)
    if not made and not windowed:
        return
    calls = [one for statement in body for one in all_nodes(statement, ast.Call)]
    parts = [one.args for one in calls if bare_name(one) == "Subset"]
    # Training windows in a random order are parted all the same, where the others come in order.
    are_dealt = all(len(args) < 2 or _is_drawn(args[1], mixed) for args in parts)
    for node in calls:
        if not node.args:
            continue
        data = _unwrapped(node.args[0])
        name = dotted(data) or (bare_name(data) if isinstance(data, ast.Call) else "")
        origin = made.get(name) or (data if name in windowed else None)
        if origin is None:
            continue
        if bare_name(node) in SPLITS and not _is_in_order(node):
            yield _leak(module, node, origin)
            return
        if bare_name(node) == "Subset" and len(node.args) > 1 and are_dealt:
            yield _leak(module, node, origin)
            return


def _mixed(assigned: Sequence[ast.Assign]) -> set[str]:
    """The names of random orders, and of parts of such."""
    found: set[str] = set()
    for node in sorted(assigned, key=lambda one: one.lineno):
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        parts = [one.value for one in values if isinstance(one, ast.Subscript)]
        if _is_random(node.value) or any(isinstance(one, ast.Name) and one.id in found for one in parts):
            found.update(_names(node))
    return found


def _dealt_by_places(
    module: Module, body: Sequence[ast.stmt], made: dict[str, ast.AST], mixed: set[str]
) -> Iterator[Leak]:
    """`x[order[:n]]` and `x[order[n:]]`, or `x = x[order]` and then `x[:n]` and `x[n:]`."""
    parts: dict[str, list[ast.Subscript]] = {}
    nodes = [one for statement in body for one in all_nodes(statement, ast.Assign, ast.Subscript)]
    moved = {
        name
        for node in nodes
        if isinstance(node, ast.Assign)
        if any(_picks(one, made, mixed) for one in all_nodes(node.value))
        for name in _names(node)
    }
    for node in nodes:
        match node:
            case ast.Subscript(
                value=ast.Name(id=name),
                slice=ast.Subscript(value=ast.Name(id=order), slice=ast.Slice() as part),
            ) if name in made and order in mixed:
                parts.setdefault(name, []).append(ast.Subscript(node.value, part, node.ctx))
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice()) if name in made and name in moved:
                parts.setdefault(name, []).append(node)
    for name, cuts in parts.items():
        heads = {_end(cut.slice, last=True) for cut in cuts}
        tails = {_end(cut.slice, last=False) for cut in cuts}
        if (heads & tails) - {""}:
            why = f"windows overlap, and {name} is put into a random order before it is parted"
            yield Leak(module.source, made[name], made[name], why)
            return


def _picks(node: ast.AST, made: dict[str, ast.AST], mixed: set[str]) -> bool:
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=order)):
            return name in made and order in mixed
    return False


def _end(part: ast.expr, last: bool) -> str:
    """Where a slice from the start ends, or where one to the end starts; "" where it is no such slice."""
    if not isinstance(part, ast.Slice):
        return ""
    end, other = (part.upper, part.lower) if last else (part.lower, part.upper)
    return ast.unparse(end) if end is not None and other is None else ""


def _leak(module: Module, split: ast.Call, origin: ast.AST) -> Leak:
    why = f"windows overlap, and `{ast.unparse(split)}` deals them out at random: neighbours are trained on"
    return Leak(module.source, split, origin, why)


def _windows(nodes: list[ast.Assign], windowed: set[str]) -> dict[str, ast.AST]:
    """The names that stand for windows, by what made them."""
    found: dict[str, ast.AST] = {}
    for node in nodes:
        if isinstance(node.value, ast.Call):
            inner = _unwrapped(node.value)
            is_made = isinstance(inner, ast.Call) and bare_name(inner) in windowed
            origin = node.value if is_made else found.get(dotted(inner) or "")
            if origin is not None:
                found.update(dict.fromkeys(_names(node), origin))
    return found


def _names(node: ast.Assign) -> Iterator[str]:
    for target in node.targets:
        for one in target.elts if isinstance(target, ast.Tuple) else (target,):
            if dotted(one):
                yield ast.unparse(one)


def _unwrapped(value: ast.expr) -> ast.expr:
    while isinstance(value, ast.Call) and bare_name(value) in WRAPPERS and value.args:
        first = value.args[0]
        value = first.value if isinstance(first, ast.Starred) else first
    return value


def _is_random(value: ast.expr) -> bool:
    return any(isinstance(one, ast.Call) and bare_name(one) in ORDERS for one in all_nodes(value))


def _is_drawn(places: ast.expr, mixed: set[str]) -> bool:
    """Whether places come out of a random order."""
    return _is_random(places) or any(
        isinstance(one, ast.Name) and one.id in mixed for one in all_nodes(places)
    )


def _is_in_order(split: ast.Call) -> bool:
    """`train_test_split(..., shuffle=False)`, or by groups of its own."""
    given = {one.arg: one.value for one in split.keywords}
    shuffle = given.get("shuffle")
    return "stratify" in given or (shuffle is not None and getattr(shuffle, "value", True) is not True)


def _overlapping_items(cls: Class) -> ast.AST | None:
    """The slice by which each item of a data set is a window one step after the one before."""
    method = cls.methods.get("__getitem__")
    if is_test(cls.source) or method is None or len(method.parameters) != 2:
        return None
    place = method.parameters[1]
    return next((one for one in all_nodes(method.node) if _is_window(one, place)), None)


def _window_makers(module: Module) -> Iterator[tuple[str, ast.AST]]:
    """Functions that cut a series into windows one step apart, in a loop or a comprehension."""
    if is_test(module.source):
        return
    for function in functions(module.source.tree):
        for loop in all_nodes(function):
            match loop:
                case ast.For(target=ast.Name(id=place), iter=over, body=body) if _is_every_place(over):
                    windows = [
                        one for statement in body for one in all_nodes(statement) if _is_window(one, place)
                    ]
                case ast.ListComp(
                    elt=element, generators=[ast.comprehension(target=ast.Name(id=place), iter=over)]
                ) if _is_every_place(over):
                    windows = [one for one in all_nodes(element) if _is_window(one, place)]
                case _:
                    continue
            if windows and any(isinstance(one, ast.Return) for one in all_nodes(function)):
                yield function.name, windows[0]
                break


def _is_every_place(over: ast.expr) -> bool:
    """`range(n)` or `range(a, b)`: without a stride."""
    return isinstance(over, ast.Call) and bare_name(over) == "range" and len(over.args) < 3


def _is_window(node: ast.AST, place: str) -> bool:
    """`series[i : i + length]`, where the length is more than one."""
    match node:
        case ast.Subscript(
            slice=ast.Slice(
                lower=ast.Name(id=low),
                upper=ast.BinOp(op=ast.Add(), left=ast.Name(id=high), right=length),
                step=None,
            )
        ):
            is_one = isinstance(length, ast.Constant) and length.value == 1
            return low == high == place and not is_one
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Slice() as first, *_]), value=whole):
            return _is_window(ast.Subscript(whole, first, ast.Load()), place)
    return False
