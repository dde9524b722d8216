"""Inputs and their targets that chance treats each by itself: mixed in two orders, or cropped at two places.

Which belongs to which is said by their names: `x_train` and `y_train`, `image` and `mask`, `lq` and `gt`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, bodies, own_nodes
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

# fmt: off
INPUT_WORDS = frozenset({
    "x", "xs", "input", "inputs", "image", "images", "img", "imgs", "features", "feature", "feats", "texts",
    "sentences", "samples", "lq", "lr", "noisy", "blur", "blurred", "hazy", "rainy", "rgb", "photo",
    "picture", "pictures", "source", "src", "data", "low",
})
TARGET_WORDS = frozenset({
    "y", "ys", "label", "labels", "target", "targets", "mask", "masks", "gt", "hr", "hq", "seg",
    "segmentation", "annotation", "annotations", "sharp", "clean", "depth", "truth", "trimap", "tgt", "high",
    "classes",
})
DRAWN_ORDERS = frozenset({"randperm", "permutation"})
SEEDING = frozenset({
    "seed", "manual_seed", "set_rng_state", "setstate", "set_state", "seed_all", "set_seed",
    "seed_everything", "fork_rng", "manual_seed_all",
})
OWN_GENERATORS = ("RandomState(", "default_rng(", "Random(", "Generator(", "random_state")
# Transforms that move what is in a picture; colours may be changed in one alone.
MOVING = (
    "RandomCrop", "RandomResizedCrop", "RandomHorizontalFlip", "RandomVerticalFlip", "RandomRotation",
    "RandomAffine", "RandomPerspective", "ElasticTransform", "RandomFlip", "RandomErasing", "RandomZoomOut",
    "RandomSizedCrop",
)
DRAWS = frozenset({"randint", "random", "uniform", "rand", "choice", "randrange", "getrandbits", "integers"})
# fmt: on
PAIR = 2
JOINING = ("TensorDataset", "StackDataset")


@dataclass(frozen=True, slots=True, eq=False)
class PartedPair:
    """Two things that belong together, and where each is treated by itself."""

    first: Site
    second: Site
    names: tuple[str, str]


@remembered
def mixed_apart(index: Index) -> tuple[PartedPair, ...]:
    """Inputs and labels that are put into two random orders."""
    found: list[PartedPair] = []
    for module in index.modules.values():
        text = module.source.text
        if "shuffle(" in text or "sample(" in text or any(word in text for word in DRAWN_ORDERS):
            for body in bodies(module.source.tree):
                found.extend(_mixed_in(module.source, body))
    return tuple(found)


def _mixed_in(source: Source, body: Sequence[ast.stmt]) -> Iterator[PartedPair]:
    for block in _blocks(body):
        mixed: list[tuple[str, ast.AST, str]] = []
        orders: dict[str, ast.Call] = {}
        for statement in block:
            if _seeds(statement):
                mixed, orders = [], {}
                continue
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if _draws_order(call):
                    orders[name] = call
            mixed.extend(_mixing(statement, orders))
        for place, (name, node, order) in enumerate(mixed):
            for other, there, its_order in mixed[place + 1 :]:
                if order != its_order and are_pair(name, other):
                    yield PartedPair(Site(source, node), Site(source, there), (name, other))


def _blocks(body: Sequence[ast.stmt]) -> Iterator[Sequence[ast.stmt]]:
    yield body
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list) and inner:
                yield from _blocks(inner)


def _seeds(statement: ast.stmt) -> bool:
    calls = all_nodes(statement, ast.Call)
    return any((dotted(call.func) or "").rpartition(".")[2] in SEEDING for call in calls)


def _draws_order(call: ast.Call) -> bool:
    text = ast.unparse(call)
    is_drawn = (dotted(call.func) or "").rpartition(".")[2] in DRAWN_ORDERS
    return is_drawn and not any(word in text for word in ("generator", *OWN_GENERATORS))


def _mixing(
    statement: ast.stmt,
    orders: dict[str, ast.Call],
    is_order: Callable[[ast.Call], bool] = _draws_order,
) -> Iterator[tuple[str, ast.AST, str]]:
    """What a statement mixes, and by which order: `random.shuffle(x)`, `x = x[torch.randperm(len(x))]`."""
    match statement:
        case ast.Expr(value=ast.Call(func=func, args=[ast.Name() | ast.Attribute() as given], keywords=[])):
            name = dotted(func) or ""
            own = any(word in ast.unparse(func) for word in OWN_GENERATORS)
            if name in {"random.shuffle", "np.random.shuffle", "numpy.random.shuffle", "shuffle"} and not own:
                yield ast.unparse(given), statement, f"at {statement.lineno}"
        case ast.Assign(targets=[target], value=ast.Subscript(value=base, slice=order)):
            if ast.unparse(target) != ast.unparse(base):
                return
            if isinstance(order, ast.Call) and is_order(order):
                yield ast.unparse(target), statement, f"at {statement.lineno}"
            elif isinstance(order, ast.Name) and order.id in orders:
                yield ast.unparse(target), statement, f"at {orders[order.id].lineno}"
        case ast.Assign(
            targets=[target], value=ast.Call(func=ast.Attribute(value=base, attr="sample")) as call
        ):
            told = {word.arg: ast.unparse(word.value) for word in call.keywords}
            if told == {"frac": "1"} and ast.unparse(target) == ast.unparse(base):
                yield ast.unparse(target), statement, f"at {statement.lineno}"


def are_pair(one: str, other: str) -> bool:
    """`x_train` and `y_train`, `self.images` and `self.labels`: an input and a target called alike."""
    plain = sorted(name.removeprefix("self.").lower() for name in (one, other))
    if [name[:1] for name in plain] == ["x", "y"] and plain[0][1:] == plain[1][1:]:
        return True  # Xtr and ytr
    first, second = ({*words(name.removeprefix("self."))} for name in (one, other))
    for left, right in ((first, second), (second, first)):
        ours, theirs = left & INPUT_WORDS, right & TARGET_WORDS
        if ours and theirs and left - ours == right - theirs and not left & TARGET_WORDS:
            return True
    return False


def in_place_orders(function: Function) -> Iterator[tuple[str, ast.AST]]:
    """What a function puts into another order under its own name, by chance or sorted by something."""
    statements = sorted(own_nodes(function.node, ast.Assign, ast.Expr), key=lambda node: node.lineno)
    if any(_seeds(statement) for statement in statements):
        return
    orders: dict[str, ast.Call] = {}
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                if _makes_order(call):
                    orders[name] = call
        for name, node, _ in _mixing(statement, orders, _makes_order):
            yield name, node


def _makes_order(call: ast.Call) -> bool:
    """Whether a call gives an order of rows: by chance, or sorted by something."""
    return (dotted(call.func) or "").rpartition(".")[2] in {"argsort", "lexsort"} or _draws_order(call)


# One in a drawn order, the other as it lies


@remembered
def picked_apart(index: Index) -> tuple[PartedPair, ...]:
    """Inputs that a loop picks by a drawn order, and targets that it takes as they lie, or the reverse."""
    found: list[PartedPair] = []
    for module in index.modules.values():
        if any(word in module.source.text for word in DRAWN_ORDERS):
            for body in bodies(module.source.tree):
                found.extend(_picked_in(module.source, body))
    return tuple(found)


def _picked_in(source: Source, body: Sequence[ast.stmt]) -> Iterator[PartedPair]:
    nodes = [
        node for statement in body if not isinstance(statement, _DEFINED) for node in all_nodes(statement)
    ]
    orders = _orders(nodes)
    yield from _joined_apart(source, nodes, orders)
    if not orders:
        return
    kept = _kept_picks(nodes, orders)
    for by_order, as_they_lie in (
        *(_picks(node, orders) for node in nodes if isinstance(node, ast.For)),
        *([kept] if kept is not None else []),
    ):
        for name, node in by_order.items():
            for other, there in as_they_lie.items():
                is_either = other in by_order or name in as_they_lie
                if not is_either and are_pair(name, other):
                    yield PartedPair(Site(source, node), Site(source, there), (name, other))
                    return


_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _joined_apart(source: Source, nodes: Sequence[ast.AST], orders: set[str]) -> Iterator[PartedPair]:
    """`TensorDataset(x[torch.randperm(n)], y)`: pairs of which one side is in a drawn order."""
    for node in nodes:
        match node:
            case ast.Call(func=func, args=[first, second]) if (dotted(func) or "").endswith(JOINING):
                for mixed, plain in ((first, second), (second, first)):
                    if not isinstance(mixed, ast.Subscript) or dotted(plain) is None:
                        continue
                    names = dotted(mixed.value) or "", dotted(plain) or ""
                    if _is_drawn_alone(nodes, mixed.slice, names[1], orders) and are_pair(*names):
                        yield PartedPair(Site(source, mixed), Site(source, plain), names)


def _is_drawn_alone(nodes: Sequence[ast.AST], order: ast.expr, other: str, orders: set[str]) -> bool:
    """Whether an order is drawn on the spot, or under a name that the other side was never picked by."""
    if isinstance(order, ast.Call):
        return _draws_order(order)
    if not isinstance(order, ast.Name) or order.id not in orders:
        return False
    return not any(
        dotted(one) == other
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        for one in all_nodes(target)
    )


def _orders(nodes: Sequence[ast.AST]) -> set[str]:
    """The names of drawn orders, and of parts of them: `idx = order[i : i + n]`."""
    found: set[str] = set()
    for _ in range(2):
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                    if getattr(call.func, "attr", getattr(call.func, "id", "")) in DRAWN_ORDERS:
                        found.add(name)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id=base))):
                    if base in found:
                        found.add(name)
    return found


def _picks(loop: ast.For, orders: set[str]) -> tuple[dict[str, ast.AST], dict[str, ast.AST]]:
    """What a loop picks by an order, and what it cuts out as it lies."""
    by_order: dict[str, ast.AST] = {}
    as_they_lie: dict[str, ast.AST] = {}
    for node in all_nodes(loop):
        if not isinstance(node, ast.Subscript) or dotted(node.value) is None:
            continue
        name = dotted(node.value) or ""
        if name in orders:
            continue
        if isinstance(node.slice, ast.Slice):
            is_part = node.slice.lower is not None and node.slice.upper is not None
            as_they_lie.update({name: node} if is_part else {})
        elif orders & {one.id for one in all_nodes(node.slice, ast.Name)}:
            by_order[name] = node
    return by_order, as_they_lie


def _kept_picks(
    nodes: Sequence[ast.AST], orders: set[str]
) -> tuple[dict[str, ast.AST], dict[str, ast.AST]] | None:
    """What is kept of data under names: by an order, `self.x = x[order]`, and up to the length of one."""
    by_order: dict[str, ast.AST] = {}
    as_they_lie: dict[str, ast.AST] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=ast.Subscript(slice=ast.Name(id=order))) if (
                order in orders
            ):
                by_order[dotted(target) or ""] = node
            case ast.Assign(
                targets=[target], value=ast.Subscript(slice=ast.Slice(lower=None, upper=ast.Call() as end))
            ):
                counted = {one.id for one in all_nodes(end, ast.Name)}
                if dotted(end.func) == "len" and counted & orders:
                    as_they_lie[dotted(target) or ""] = node
    return (by_order, as_they_lie) if by_order and as_they_lie else None


# Crops and turns


@remembered
def moved_apart(index: Index) -> tuple[PartedPair, ...]:
    """Pictures and their targets that are cropped or turned at random, each by itself."""
    found: list[PartedPair] = []
    for function in index.bodies:
        found.extend(_moved_in(index, function))
    return tuple(found)


def _moved_in(index: Index, function: Function) -> Iterator[PartedPair]:
    statements = sorted(own_nodes(function.node, ast.Assign), key=lambda node: node.lineno)
    if len(statements) < PAIR:
        return
    seeded = [
        node.lineno
        for node in own_nodes(function.node, ast.Call)
        if (dotted(node.func) or "").rpartition(".")[2] in SEEDING
    ]
    moved = [one for statement in statements for one in _moving(index, function, statement)]
    yield from _moved_in_one_line(index, function, statements)
    for place, (name, node) in enumerate(moved):
        for other, there in moved[place + 1 :]:
            is_seeded = any(
                min(node.lineno, there.lineno) <= line <= max(node.lineno, there.lineno) for line in seeded
            )
            if not is_seeded and are_pair(name, other):
                yield PartedPair(Site(function.source, node), Site(function.source, there), (name, other))
                return


def _moved_in_one_line(
    index: Index, function: Function, statements: Sequence[ast.Assign]
) -> Iterator[PartedPair]:
    """`x, mask = spin(x), spin(mask)`, of which the two alone are given back."""
    given = [
        [_rooted(function, one) for one in node.value.elts]
        for node in own_nodes(function.node, ast.Return)
        if isinstance(node.value, ast.Tuple)
    ]
    for statement in statements:
        match statement:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=one), ast.Name(id=other)])],
                value=ast.Tuple(
                    elts=[
                        ast.Call(func=called, args=[ast.Name(id=first)]),
                        ast.Call(func=again, args=[ast.Name(id=second)]),
                    ]
                ),
            ) if (first, second) == (one, other) and _are_given(one, other, given):
                is_same = ast.unparse(called) == ast.unparse(again)
                if is_same and _moves_at_random(index, function, called):
                    site = Site(function.source, statement)
                    yield PartedPair(site, site, (one, other))


def _rooted(function: Function, value: ast.expr) -> set[str]:
    """The names that an expression is made of, and those that they were made of in turn."""
    found = {one.id for one in all_nodes(value, ast.Name)}
    for node in sorted(own_nodes(function.node, ast.Assign), key=lambda one: -one.lineno):
        if any(isinstance(one, ast.Name) and one.id in found for one in node.targets):
            found |= {one.id for one in all_nodes(node.value, ast.Name)}
    return found


def _are_given(one: str, other: str, given: Sequence[Sequence[set[str]]]) -> bool:
    """Whether a row of two is given back, of which each is made of one of two names alone."""
    for row in given:
        sides = [names & {one, other} for names in row]
        if sides == [{one}, {other}]:
            return True
    return False


def _moving(index: Index, function: Function, statement: ast.Assign) -> Iterator[tuple[str, ast.Call]]:
    """`image = self.transform(image)` of something that moves what is in it at random."""
    call = statement.value
    if not isinstance(call, ast.Call) or not call.args or len(statement.targets) != 1:
        return
    given, target = dotted(call.args[0]), dotted(statement.targets[0])
    if given is None or given != target or len(call.args) > 2 or _is_told_what_was_drawn(call):
        return
    pictures = [
        arg
        for arg in call.args
        if dotted(arg) and words(dotted(arg) or "") and _is_picture(dotted(arg) or "")
    ]
    if len(pictures) == 1 and _moves_at_random(index, function, call.func):
        yield given, call


def _is_told_what_was_drawn(call: ast.Call) -> bool:
    """`depth = self.erase(depth, params=self.erase._params)`: the move of the last picture once more."""
    own = dotted(call.func)
    given = (dotted(word.value) or "" for word in call.keywords)
    return own is not None and any(one.startswith(f"{own}.") for one in given)


def _is_picture(name: str) -> bool:
    return bool(set(words(name)) & (INPUT_WORDS | TARGET_WORDS))


def _moves_at_random(index: Index, function: Function, called: ast.expr) -> bool:
    if isinstance(called, ast.Call):  # RandomCrop(64)(image)
        return _is_moving_chain(called)
    name = dotted(called) or ""
    local = _assigned(own_nodes(function.node), name)
    if local:
        return any(map(_is_moving_chain, local))
    if name.startswith("self.") and function.owner is not None:
        return _kept_moves(index, function.owner, name.removeprefix("self."))
    target = index.resolve(index.module_of(function.source), name)
    if isinstance(target, Function):
        return _draws_place(target)
    value = getattr(target, "value", None)
    return isinstance(value, ast.expr) and _is_moving_chain(value)


def _kept_moves(index: Index, cls: Class, attribute: str) -> bool:
    """Whether an attribute is a chain that moves, or is given one where an object is made."""
    if attribute in cls.methods:
        return _draws_place(cls.methods[attribute])
    init = cls.methods.get("__init__")
    kept = _assigned(own_nodes(init.node), f"self.{attribute}") if init is not None else []
    if any(map(_is_moving_chain, kept)):
        return True
    names = {one.id for one in kept if isinstance(one, ast.Name)}
    if init is None or not names:
        return False
    return any(_is_moving_chain(given) for given in _given(index, cls, init, names))


def _given(index: Index, cls: Class, init: Function, names: set[str]) -> Iterator[ast.expr]:
    """What the program gives for parameters of a class, each name looked up in its own file."""
    for module in index.modules.values():
        if cls.name not in module.source.text:
            continue
        tree = module.source.tree
        for call in all_nodes(tree, ast.Call):
            if (dotted(call.func) or "").rpartition(".")[2] != cls.name:
                continue
            told = dict(zip(init.parameters[1:], call.args, strict=False))
            told |= {word.arg: word.value for word in call.keywords if word.arg is not None}
            for name in names & told.keys():
                value = told[name]
                written = _assigned(all_nodes(tree), value.id) if isinstance(value, ast.Name) else [value]
                yield from written


def _assigned(nodes: Sequence[ast.AST], name: str) -> list[ast.expr]:
    """What a name is given, also as one of several."""
    found: list[ast.expr] = []
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if ast.unparse(target) == name:
                found.append(node.value)
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts, strict=False)
                found.extend(value for one, value in pairs if ast.unparse(one) == name)
    return found


def _is_moving_chain(node: ast.expr) -> bool:
    """A chain of transforms of pictures with one that moves at random; libraries that take pairs are none."""
    if not isinstance(node, ast.Call):
        return False
    text = ast.unparse(node)
    made = (dotted(node.func) or "").rpartition(".")[2]
    is_chain = made in {"Compose", "Sequential", "RandomApply"} or made in MOVING
    return is_chain and any(f"{word}(" in text for word in MOVING) and "additional_targets" not in text


def _draws_place(function: Function) -> bool:
    """Whether a function crops or turns its one picture at a place that it draws."""
    said = set(words(function.name))
    names = {(dotted(call.func) or "").rpartition(".")[2] for call in own_nodes(function.node, ast.Call)}
    is_moving = said & {"crop", "flip", "rotate", "rotation", "augment", "turn", "shift", "affine"}
    is_moving = is_moving or names & {"flip", "fliplr", "flipud", "rot90", "hflip", "vflip", "rotate"}
    return bool(is_moving and names & DRAWS) and not names & SEEDING
