"""Scores that every process counts on its own share of the held-out data, and nobody adds up."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test, statement_nodes
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

HELD_OUT = frozenset(
    {"val", "valid", "validation", "test", "eval", "dev", "heldout", "held", "holdout", "evaluation"}
)
# Words in the name of a call that brings the counts of all processes together, or may do so out of sight.
TOGETHER = frozenset({
    "reduce", "allreduce", "gather", "allgather", "synchronize", "synchronise", "sync", "merge", "compute",
    "psum", "collect", "aggregate", "join",
})  # fmt: skip
ELSEWHERE = ("torchmetrics", "ignite.metrics", "horovod", "accelerate", "lightning", "save", "dump", "write")
DEPTH = 3  # calls below and above the loop that are looked into
WRAPPING = frozenset({"tqdm", "enumerate", "track", "iter", "progress", "trange", "islice"})


@dataclass(frozen=True, slots=True, eq=False)
class UnreducedScore:
    """A loop over one process's share of held-out data, what it counts, and the sampler that shares them."""

    loop: Site
    counted: Site
    sampler: Site


@remembered
def unreduced_scores(index: Index) -> tuple[UnreducedScore, ...]:
    """The evaluations of one share that no process tells the others of."""
    found: list[UnreducedScore] = []
    for module in index.modules.values():
        if is_test(module.source) or "DistributedSampler" not in module.source.text:
            continue
        shared = dict(_shared_loaders(module.source))
        if shared:
            found.extend(_in_program(index, shared))
    unique = {id(one.loop.node): one for one in found}
    return tuple(unique.values())


def _shared_loaders(source: Source) -> Iterator[tuple[str, Site]]:
    """The loaders of held-out data, by name, whose sampler deals the samples out."""
    samplers: dict[str, ast.Call] = {}
    for name, value in _assigned(source):
        for call in (one for one in all_nodes(value, ast.Call)):
            if bare_name(call) == "DistributedSampler":
                samplers[name] = call
    for name, made in (*_assigned(source), *_handed_back(source)):
        if isinstance(made, ast.Call):
            told = {word.arg: word.value for word in made.keywords}
            given = told.get("sampler")
            if bare_name(made) != "DataLoader" or given is None:
                continue
            is_made_there = isinstance(given, ast.Call) and bare_name(given) == "DistributedSampler"
            sampler = given if is_made_there else samplers.get(_name(given))
            data = _name(made.args[0]) if made.args else _name(told.get("dataset"))
            is_held_out = HELD_OUT & {*words(name), *words(data)} or _is_in_order(sampler)
            if isinstance(sampler, ast.Call) and is_held_out:
                yield name, Site(source, sampler)


def _handed_back(source: Source) -> Iterator[tuple[str, ast.expr]]:
    """`train, val = loaders()`: what names get of a function of the file that has one return."""
    for function in all_nodes(source.tree, *FunctionNode.__args__):
        returned = [one.value for one in own_nodes(function, ast.Return)]
        if len(returned) != 1:
            continue
        for node in all_nodes(source.tree, ast.Assign):
            if not (isinstance(node.value, ast.Call) and bare_name(node.value) == function.name):
                continue
            match node.targets[0], returned[0]:
                case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                    yield from ((_name(target), value) for target, value in zip(targets, values, strict=True))
                case target, ast.Call() as value:
                    yield _name(target), value


def _is_in_order(sampler: ast.AST | None) -> bool:
    """`DistributedSampler(data, shuffle=False)`, as it is made for what is measured."""
    told = {word.arg: word.value for word in sampler.keywords} if isinstance(sampler, ast.Call) else {}
    shuffle = told.get("shuffle")
    return isinstance(shuffle, ast.Constant) and shuffle.value is False


def _assigned(source: Source) -> Iterator[tuple[str, ast.expr]]:
    """What names and attributes are given, pairs of tuples one by one."""
    for node in all_nodes(source.tree, ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                yield from ((_name(target), value) for target, value in zip(targets, values, strict=False))
            case ast.Assign(targets=[target], value=value):
                yield _name(target), value


def _name(node: ast.AST | None) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _in_program(index: Index, shared: dict[str, Site]) -> Iterator[UnreducedScore]:
    for module in index.modules.values():
        if not is_test(module.source):
            nodes = list(statement_nodes(module.source.tree))
            yield from _in_block(index, module.source, nodes, shared, None)
    for function in index.functions:
        if not is_test(function.source):
            handed = _handed(index, function, shared)
            yield from _in_block(
                index, function.source, list(own_nodes(function.node)), {**shared, **handed}, function
            )


def _handed(index: Index, function: Function, shared: dict[str, Site]) -> dict[str, Site]:
    """The parameters of a function that all its callers fill with such loaders."""
    found: dict[str, list[Site | None]] = {}
    for module in index.modules.values():
        if function.name not in module.source.text:
            continue
        for node in all_nodes(module.source.tree, ast.Call):
            if not isinstance(node, ast.Call) or bare_name(node) != function.name:
                continue
            parameters = function.parameters[1:] if function.owner is not None else function.parameters
            placed = dict(zip(parameters, node.args, strict=False))
            named = {word.arg: word.value for word in node.keywords if word.arg is not None}
            for name, value in {**placed, **named}.items():
                found.setdefault(name, []).append(shared.get(_name(value)))
    known = {name: sites for name, sites in found.items() if sites and all(sites)}
    return {name: sites[0] for name, sites in known.items() if sites[0] is not None}


def _in_block(
    index: Index,
    source: Source,
    nodes: Sequence[ast.AST],
    shared: dict[str, Site],
    function: Function | None,
) -> Iterator[UnreducedScore]:
    for node in nodes:
        if not isinstance(node, ast.For) or any(_trains(one) for one in all_nodes(node, ast.Call)):
            continue
        sampler = shared.get(_gone_through(node.iter))
        counted = _counted(node) if sampler is not None else None
        if sampler is None or counted is None:
            continue
        if not _is_brought_together(index, source, nodes, function):
            yield UnreducedScore(Site(source, node), Site(source, counted), sampler)


def _trains(call: ast.Call) -> bool:
    return bare_name(call) == "backward"


def _gone_through(iterable: ast.expr) -> str:
    while isinstance(iterable, ast.Call) and bare_name(iterable) in WRAPPING and iterable.args:
        iterable = iterable.args[0]
    return _name(iterable)


def _counted(loop: ast.For) -> ast.AST | None:
    """What a loop counts up: `correct += ...`, `meter.update(loss)`."""
    for node in all_nodes(loop):
        match node:
            case ast.AugAssign(op=ast.Add(), value=value) if not isinstance(value, ast.Constant):
                return node
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="update"), args=[_, *_])):
                return node
    return None


def _is_brought_together(
    index: Index, source: Source, nodes: Sequence[ast.AST], function: Function | None
) -> bool:
    """Whether anything near a loop, in what it calls or in its callers, may bring the counts together."""
    if any(_joins(node) for node in nodes) or any(name in source.text for name in ELSEWHERE[:5]):
        return True
    named = {function.name: function for function in index.functions}
    results = list(_given_results(index, function)) if function is not None else []
    if any(_joins(call) for call in results):
        return True
    seen: set[Function] = set()
    waiting = [(inner, DEPTH) for inner in _called([*nodes, *results], named)]
    while waiting:
        current, depth = waiting.pop()
        if current in seen or depth == 0:
            continue
        seen.add(current)
        inside = list(all_nodes(current.node))
        if any(_joins(node) for node in inside):
            return True
        waiting += [(inner, depth - 1) for inner in _called(inside, named)]
    return False


def _given_results(index: Index, function: Function) -> Iterator[ast.Call]:
    """The calls that are given what a function counted: around it, or by the names that it is kept under."""
    for module in index.modules.values():
        if is_test(module.source) or function.name not in module.source.text:
            continue
        blocks = [list(statement_nodes(module.source.tree))]
        blocks += [list(own_nodes(one.node)) for one in index.functions if one.source is module.source]
        for block in blocks:
            kept = {name for node in block for name in _kept_from(node, function.name)}
            for node in block:
                if isinstance(node, ast.Call) and bare_name(node) != function.name:
                    given = [*node.args, *(word.value for word in node.keywords)]
                    inner = [one for arg in given for one in all_nodes(arg)]
                    if any(_is_call_of(one, function.name) or _name(one) in kept for one in inner):
                        yield node


def _kept_from(node: ast.AST, name: str) -> Iterator[str]:
    if isinstance(node, ast.Assign) and any(_is_call_of(one, name) for one in all_nodes(node.value)):
        for target in node.targets:
            yield from (_name(one) for one in all_nodes(target) if isinstance(one, ast.Name | ast.Attribute))


def _is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and bare_name(node) == name


def _joins(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    named = set(words(bare_name(node)))
    if named & {"batchnorm", "bn", "norm"}:  # of statistics, not of scores
        return False
    return bool(named & TOGETHER) or bool(named & set(ELSEWHERE[5:]) and _is_per_rank(node))


def _is_per_rank(call: ast.Call) -> bool:
    """`torch.save(answers, f"answers_{rank}.pt")`: each process writes its share, to be joined later."""
    return any("rank" in name for node in all_nodes(call) if (name := _name_or_text(node)))


def _name_or_text(node: ast.AST) -> str:
    text = getattr(node, "id", getattr(node, "attr", getattr(node, "value", "")))
    return text if isinstance(text, str) else ""


def _called(nodes: Sequence[ast.AST], named: dict[str, Function]) -> Iterator[Function]:
    for node in nodes:
        if isinstance(node, ast.Call) and bare_name(node) in named and not isinstance(node, FunctionNode):
            yield named[bare_name(node)]
