"""Averages of weights that are drawn the wrong way: nearly all of the new, or into the network itself.

    kept * average + taken * weight        with kept near zero
    for w, a in zip(net..., average...): w.lerp_(a, t)   where an optimizer trains net

What is kept of the average and what is taken of the weights are complements of each other. Which of them is
the large one is told by the number where it is written somewhere, else by the word decay, which is what is
kept.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import OPTIMIZER_CLASSES
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.said_numbers import Said, said
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.telling_bodies import telling_bodies
from stethoscope.run import Source

LEAST_KEPT = 0.11  # decays are 0.9 and more; Lookahead keeps 0.2 to 0.5 of its slow weights
WEIGHTS = ("parameters", "named_parameters", "state_dict", "buffers")
AVERAGES = frozenset({"ema", "average", "averaged", "avg", "shadow", "polyak", "teacher", "momentum", "swa"})
OF_ACTIONS = re.compile(r"\breward|\bgym|\benv\.step|next_obs|next_state")
# What leaves a tensor what it is.
SAME = frozenset({"data", "detach", "clone", "float", "to", "cpu", "cuda", "type_as"})


@dataclass(frozen=True, slots=True, eq=False)
class Blend:
    """One update of an average: what is written to, what it is drawn after, and the weight of each."""

    node: ast.expr
    average: ast.expr
    weight: ast.expr
    kept: ast.expr | None
    taken: ast.expr


@dataclass(frozen=True, slots=True, eq=False)
class TurnedAverage:
    """An update that keeps next to nothing of the average; `share` is what it keeps, where that is known."""

    source: Source
    blend: Blend
    share: float | None


@dataclass(frozen=True, slots=True, eq=False)
class BlendedNetwork:
    """An update that draws the trained network after its average."""

    source: Source
    blend: Blend
    network: str
    average: str
    trained: ast.AST


def turned_averages(index: Index) -> Iterator[TurnedAverage]:
    """Updates of averages that keep the small share."""
    for function in _mixing(index):
        for blend in _blends(function):
            share = _share_kept(index, function, blend)
            if share is not None and share < LEAST_KEPT:
                yield TurnedAverage(function.source, blend, share if share > 0 else None)


def blends_of_networks(index: Index) -> Iterator[tuple[Source, Blend]]:
    """Every update of an average of a network's weights."""
    for function in _mixing(index):
        for blend in _blends(function):
            yield function.source, blend


@remembered
def _mixing(index: Index) -> tuple[Function, ...]:
    return tuple(
        function
        for function in telling_bodies(index, lambda text: any(f"{name}(" in text for name in WEIGHTS))
        if any(_last(call.func) in WEIGHTS for call in own_nodes(function.node, ast.Call))
    )


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


# What is kept


def _share_kept(index: Index, function: Function, blend: Blend) -> float | None:
    """The share of the average that stays; 0 where only a name says that it is the small one."""
    if blend.kept is None:
        rest, is_rest = _rest(blend.taken)
        return _judged(index, said(index, function, rest), kept=is_rest)
    (kept, kept_is_rest), (taken, taken_is_rest) = _rest(blend.kept), _rest(blend.taken)
    if ast.unparse(kept) != ast.unparse(taken) or kept_is_rest == taken_is_rest:
        numbers = [one.value for one in (kept, taken) if isinstance(one, ast.Constant)]
        known = [float(one) for one in numbers if isinstance(one, int | float)]
        is_whole = len(known) == 2 and abs(sum(known) - 1) < 1e-6
        return known[0] if is_whole and 0 < known[0] < 1 else None
    return _judged(index, said(index, function, kept), kept=not kept_is_rest)


def _judged(index: Index, one: Said, kept: bool) -> float | None:
    """What is kept, where the expression is what is kept or what is taken."""
    fractions = {number for number in one.numbers if 0 < number < 1}
    if fractions and len(fractions) == len(one.numbers - {1.0}):  # a schedule may end with 1
        shares = [number if kept else 1 - number for number in fractions]
        return max(shares)
    if one.numbers:
        return None
    if "tau" in one.words and kept and any(OF_ACTIONS.search(source.text) for source in index.program):
        return 0.0  # where actions are learned, tau is what is taken of the new weights
    return 0.0 if "decay" in one.words and not kept else None


def _rest(node: ast.expr) -> tuple[ast.expr, bool]:
    """The share of which an expression is the rest: `1 - decay`."""
    match node:
        case ast.BinOp(op=ast.Sub(), left=ast.Constant(value=1 | 1.0), right=right):
            return right, True
    return node, False


# The forms of an update


def _blends(function: Function) -> Iterator[Blend]:
    for node in own_nodes(function.node, ast.Call, ast.Assign):
        if isinstance(node, ast.Call):
            yield from _of_call(node)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            stored = _stored(function, node.targets[0])
            if stored is not None:
                mixed = _content(node.value)
                yield from _of_sum(mixed, stored)
                yield from _of_lerp(mixed, stored)


def _of_call(call: ast.Call) -> Iterator[Blend]:
    match call:
        case ast.Call(func=ast.Attribute(value=average, attr="lerp_"), args=[weight, taken]):
            yield Blend(call, average, weight, None, taken)
        case ast.Call(
            func=ast.Attribute(
                value=ast.Call(func=ast.Attribute(value=average, attr="mul_"), args=[kept]), attr="add_"
            ),
            args=[added],
        ):
            alpha = next((word.value for word in call.keywords if word.arg == "alpha"), None)
            parts = (alpha, added) if alpha is not None else _product(added)
            if parts is not None:
                yield Blend(call, average, parts[1], kept, parts[0])
        case ast.Call(func=ast.Attribute(value=average, attr="copy_"), args=[mixed]):
            yield from _of_sum(mixed, average)
            yield from _of_lerp(mixed, average)


def _of_sum(node: ast.expr, average: ast.expr) -> Iterator[Blend]:
    """`kept * average + taken * weight`, in any order."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return
    wanted = _bare(average)
    for own, other in ((node.left, node.right), (node.right, node.left)):
        for kept, mine in _factors(own):
            if _bare(mine) != wanted:
                continue
            for taken, weight in _factors(other):
                is_rest = ast.unparse(_rest(taken)[0]) == ast.unparse(_rest(kept)[0])
                if is_rest or (not _is_share(weight) and _is_share(taken)):
                    yield Blend(node, average, weight, kept, taken)
                    return


def _of_lerp(node: ast.expr, average: ast.expr) -> Iterator[Blend]:
    """`torch.lerp(average, weight, taken)` or `average.lerp(weight, taken)`, from either side."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="lerp"), args=[own, other, share]):
            pass
        case ast.Call(func=ast.Attribute(value=own, attr="lerp"), args=[other, share]):
            pass
        case _:
            return
    if _bare(own) == _bare(average):
        yield Blend(node, average, other, None, share)
    elif _bare(other) == _bare(average):
        rest = ast.BinOp(ast.Constant(1), ast.Sub(), share)
        yield Blend(node, average, own, share, rest)


def _product(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The share and the tensor of `(1 - decay) * weight`."""
    return next(((share, one) for share, one in _factors(node) if _is_share(share)), None)


def _factors(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield node.left, node.right
        yield node.right, node.left


def _is_share(node: ast.expr) -> bool:
    """`decay`, `self.m`, `1 - tau`, `0.999`: no tensor, which is called, indexed or has `.data`."""
    node = _rest(node)[0]
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    return dotted(node) is not None and not any(one.attr in SAME for one in all_nodes(node, ast.Attribute))


def _bare(node: ast.expr) -> str:
    """What a tensor is called, without what leaves it the same."""
    return ast.unparse(_content(node))


def _content(node: ast.expr) -> ast.expr:
    """A tensor without what leaves it the same: `x` of `x.data.clone()`."""
    while True:
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in SAME:
                node = inner
            case ast.Attribute(value=inner, attr=name) if name in SAME:
                node = inner
            case _:
                return node


def _stored(function: Function, target: ast.expr) -> ast.expr | None:
    """Where an assignment ends: `t.data`, `shadow[name]`, or what a name is put into afterwards."""
    if isinstance(target, ast.Attribute | ast.Subscript):
        return target
    if not isinstance(target, ast.Name):
        return None
    for node in own_nodes(function.node, ast.Assign, ast.Call):
        match node:
            case ast.Assign(targets=[ast.Subscript() | ast.Attribute() as place], value=value):
                if _bare(value) == target.id:
                    return place
            case ast.Call(func=ast.Attribute(value=place, attr="copy_"), args=[value]):
                if _bare(value) == target.id:
                    return place
    return None


# The network drawn after its average


def blended_networks(index: Index) -> Iterator[BlendedNetwork]:
    """Loops over the weights of two networks that write to the one an optimizer of the class trains."""
    for function in _mixing(index):
        if function.owner is None:
            yield from _blended_by_callers(index, function)
            yield from _blended_in_place(index, function)
            continue
        trained = _trained(index, function)
        frozen = _frozen_and_asked(index, function)
        for loop in own_nodes(function.node, ast.For):
            sides = _sides(loop)
            for blend in _blends(function):
                own, other = sides.get(_bare(blend.average)), sides.get(_bare(blend.weight))
                if own in trained and other is not None and other not in trained and _is_within(loop, blend):
                    yield BlendedNetwork(function.source, blend, own, other, trained[own])
                elif own and other in frozen and own not in frozen and _is_within(loop, blend):
                    yield BlendedNetwork(function.source, blend, own, other, frozen[other])


def _blended_by_callers(index: Index, function: Function) -> Iterator[BlendedNetwork]:
    """The same of a function that is handed both networks: `draw(net, average)` for `draw(average, net)`."""
    handed = [
        (own, other, blend)
        for loop in own_nodes(function.node, ast.For)
        for sides in (_sides(loop),)
        for blend in _blends(function)
        if _is_within(loop, blend)
        and (own := sides.get(_bare(blend.average))) in function.parameters
        and (other := sides.get(_bare(blend.weight))) in function.parameters
    ]
    for caller in index.bodies if handed else ():
        calls = [given for call in own_nodes(caller.node, ast.Call) if (given := _given(function, call))]
        trained = _optimized(caller)
        for own, other, blend in handed:
            pairs = {(given.get(own), given.get(other)) for given in calls}
            written = {network for network, _ in pairs}
            for network, average in pairs:
                if network in trained and average and average not in {*trained, *written}:
                    yield BlendedNetwork(function.source, blend, network, average, trained[network])


def _blended_in_place(index: Index, function: Function) -> Iterator[BlendedNetwork]:
    """The same of two networks that are known all over a file, one of them made as a copy of the other."""
    copies = _copies(function.source)
    for loop in own_nodes(function.node, ast.For) if copies else ():
        sides = _sides(loop)
        for blend in _blends(function) if sides else ():
            own, other = sides.get(_bare(blend.average)), sides.get(_bare(blend.weight))
            made = copies.get(other or "")
            if own is None or other is None or made is None or own != made[0] or not _is_within(loop, blend):
                continue
            if AVERAGES & {*words(other), *words(function.name)}:
                yield BlendedNetwork(function.source, blend, own, other, made[1])


def _copies(source: Source) -> dict[str, tuple[str, ast.AST]]:
    """`ema = copy.deepcopy(model).eval()`: the name of each copy, with that of what was copied."""
    found: dict[str, tuple[str, ast.AST]] = {}
    for node in all_nodes(source.tree, ast.Assign):
        made = node.value
        while (
            isinstance(made, ast.Call)
            and isinstance(made.func, ast.Attribute)
            and _last(made.func) != "deepcopy"
        ):
            made = made.func.value
        if isinstance(made, ast.Call) and _last(made.func) == "deepcopy" and made.args:
            copied = dotted(made.args[0])
            for target in node.targets:
                name = dotted(target)
                if copied and name:
                    found[name] = (copied, node)
    return found


def _given(function: Function, call: ast.Call) -> dict[str, str]:
    """The names that a call of a function hands to its parameters."""
    if _last(call.func) != function.name:
        return {}
    words = {word.arg: word.value for word in call.keywords if word.arg is not None}
    placed = {**dict(zip(function.parameters, call.args, strict=False)), **words}
    return {name: said for name, value in placed.items() if (said := dotted(value)) is not None}


def _optimized(function: Function) -> dict[str, ast.AST]:
    """What the optimizers that a function makes are told of, by name."""
    made = [call for call in own_nodes(function.node, ast.Call) if _last(call.func) in OPTIMIZER_CLASSES]
    return {
        said: call
        for call in made
        for arg in (*call.args[:1], *(word.value for word in call.keywords if word.arg == "params"))
        for node in all_nodes(arg, ast.Name, ast.Attribute)
        if (said := dotted(node)) is not None
    }


def _is_within(loop: ast.For, blend: Blend) -> bool:
    return any(node is blend.node for node in all_nodes(loop))


def _trained(index: Index, function: Function) -> dict[str, ast.AST]:
    """The networks whose weights optimizers of the class are made with: `Adam(self.student.parameters())`."""
    found: dict[str, ast.AST] = {}
    for cls in index.lineage(function.owner) if function.owner is not None else ():
        for method in cls.methods.values():
            for call in own_nodes(method.node, ast.Call):
                owner = _whose(call.args[0]) if call.args and "optim" in (dotted(call.func) or "") else None
                if owner is not None:
                    found[owner] = call
    return found


def _frozen_and_asked(index: Index, function: Function) -> dict[str, ast.AST]:
    """The networks of a class that no gradient moves and that it runs, as teachers are; an anchor never runs.

    `for p in self.teacher.parameters(): p.requires_grad = False` or `self.teacher.requires_grad_(False)`.
    One that an optimizer moves, or that is switched on again, is only held still for a while, as a critic is
    for the step of its actor.
    """
    frozen: dict[str, ast.AST] = {}
    called: set[str | None] = set()
    moved = {*_trained(index, function)}
    for method in function.owner.methods.values() if function.owner is not None else ():
        for node in own_nodes(method.node):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=owner, attr="requires_grad_"), args=[ast.Constant(value=False)]
                ):
                    frozen[dotted(owner) or ""] = node
                case ast.Call(
                    func=ast.Attribute(value=owner, attr="requires_grad_"),
                    args=[] | [ast.Constant(value=True)],
                    keywords=[],
                ):
                    moved.add(dotted(owner) or "")
                case ast.For() if whose := _switched(node, on=False):
                    frozen[whose] = node
                case ast.For() if whose := _switched(node, on=True):
                    moved.add(whose)
                case ast.Call(func=func):
                    called.add(dotted(func))
    return {name: node for name, node in frozen.items() if name in called and name not in moved}


def _switched(loop: ast.For, *, on: bool) -> str | None:
    """The network whose weights a loop takes into the graph or out of it; of two, the one that it names."""
    sides = _sides(loop)
    if isinstance(loop.target, ast.Name) and (whose := _whose(loop.iter)) is not None:
        sides = {loop.target.id: whose}
    for node in all_nodes(loop):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id=name), attr="requires_grad")],
                value=ast.Constant(value=bool(value)),
            ) if name in sides and value is on:
                return sides[name]
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="requires_grad_"),
                args=[ast.Constant(value=bool(value))],
            ) if name in sides and value is on:
                return sides[name]
    return None


def _sides(loop: ast.For) -> dict[str, str]:
    """The names of a loop over two networks, each with its network."""
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=one), ast.Name(id=two)]),
            iter=ast.Call(func=ast.Name(id="zip"), args=[first, second]),
        ):
            owners = _whose(first), _whose(second)
            if owners[0] is not None and owners[1] is not None:
                return {one: owners[0], two: owners[1]}
    return {}


def _whose(node: ast.expr) -> str | None:
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="parameters"), args=[]):
            return dotted(owner)
    return None
