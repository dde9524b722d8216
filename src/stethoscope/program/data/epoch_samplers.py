"""Samplers that shuffle by an epoch they must be told, and whether anybody tells them.

A `DistributedSampler` is one, and so is a class of the program that seeds its order with an attribute which
only its `set_epoch` changes. A class that counts its epochs by itself needs no telling; one that seeds its
order with what never changes cannot be told.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.program.data.data_order import is_off
from stethoscope.program.data.training_data import TrainingLoader
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.loop.moves import receiver_role
from stethoscope.program.loop.roles import Role
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Assignment, Call
from stethoscope.program.walk.values import Applied, Choice, Instance, Site, Value

SEEDING = frozenset({"manual_seed", "seed", "default_rng", "Random", "RandomState", "Generator"})
ORDERING = frozenset({"randperm", "permutation", "shuffle", "sample", "permuted"})
SHUFFLE_PLACE = 3  # among the arguments of a distributed sampler
UNKNOWN = "?"
DEPTH = 3  # samplers inside samplers


@dataclass(frozen=True, slots=True, eq=False)
class EpochSampler:
    """A sampler that gives one order again and again until it is told the epoch.

    `seeds` are the attributes that decide its order; `listens` is false where no method changes any of them.
    """

    made: Value
    site: Site
    seeds: frozenset[str]
    listens: bool = True


def epoch_sampler(loader: TrainingLoader) -> EpochSampler | None:
    """The sampler of a loader that must be told the epoch, where it has one."""
    for name in ("sampler", "batch_sampler"):
        found = _must_be_told(loader, loader.options.get(name), DEPTH)
        if found is not None:
            return found
    return None


def _must_be_told(loader: TrainingLoader, value: Value | None, depth: int) -> EpochSampler | None:
    if value is None or depth == 0:
        return None
    match value:
        case Choice(options=options):
            each = (_must_be_told(loader, option, depth) for option in options)
            return next((one for one in each if one is not None), None)
        case Applied(callee=callee, args=args, keywords=keywords):
            kind = callee.rpartition(".")[2]
            if kind.endswith("DistributedSampler"):
                shuffle = args[SHUFFLE_PLACE] if len(args) > SHUFFLE_PLACE else keywords.get("shuffle")
                is_fixed = shuffle is not None and is_off(shuffle)
                return None if is_fixed else EpochSampler(value, value.site, frozenset({"epoch"}))
            inner = args[0] if args else keywords.get("sampler")
            return _must_be_told(loader, inner, depth - 1) if kind == "BatchSampler" else None
        case Instance(cls=cls, made_with=given):
            own = seeds_of(loader.run.index, cls)
            if own is not None:
                return EpochSampler(value, _made_at(loader, value), *own)
            if any("set_epoch" in one.methods for one in loader.run.index.lineage(cls)):
                return None
            held = (one for name, one in given.items() if name != "self")
            each = (_must_be_told(loader, one, depth - 1) for one in held)
            return next((one for one in each if one is not None), None)
    return None


def seeds_of(index: Index, cls: Class) -> tuple[frozenset[str], bool] | None:
    """What the order of a class of samplers is seeded with, and whether it can be told the epoch.

    None where it needs no telling: it draws a new order each time, or counts by itself.
    """
    methods = {name: method for one in reversed(index.lineage(cls)) for name, method in one.methods.items()}
    order = methods.get("__iter__")
    if order is None:
        bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
        return (frozenset({"epoch"}), True) if "DistributedSampler" in bases else None
    seeds = frozenset(_seeds(order))
    changing = {name for method in methods.values() if _acts(method) for name in _written(method)}
    if not seeds or not _puts_in_order(order) or seeds & changing or UNKNOWN in seeds:
        return None
    setter = methods.get("set_epoch")
    return seeds, setter is not None and bool(seeds.intersection(_written(setter)))


def _acts(method: Function) -> bool:
    """Whether a method changes an object while it is used, and not when it is made, loaded or told."""
    return method.name not in {"__init__", "set_epoch", "load_state_dict", "__setstate__"}


@lru_cache(maxsize=512)
def _seeds(order: Function) -> tuple[str, ...]:
    """The attributes and numbers that an order is seeded with, UNKNOWN for anything else."""
    found: list[str] = []
    given = {
        target.id: node.value
        for node in own_nodes(order.node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in own_nodes(order.node):
        if not (isinstance(node, ast.Call) and bare_name(node) in SEEDING):
            continue
        for arg in (*node.args, *(keyword.value for keyword in node.keywords)):
            found += _attributes(arg, given)
    return tuple(found)


def _attributes(node: ast.expr, given: dict[str, ast.expr]) -> Iterator[str]:
    for inner in all_nodes(node):
        match inner:
            case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                yield attr
            case ast.Name(id=name) if name != "self" and name in given:
                yield from _attributes(given[name], {})
            case ast.Name(id=name) if name not in {"self", "hash", "int", "torch", "np", "str"}:
                yield UNKNOWN
            case ast.Call(func=ast.Attribute()):
                yield UNKNOWN
            case ast.Constant(value=int() as number):
                yield str(number)


@lru_cache(maxsize=512)
def _puts_in_order(order: Function) -> bool:
    return any(isinstance(node, ast.Call) and bare_name(node) in ORDERING for node in own_nodes(order.node))


@lru_cache(maxsize=2048)
def _written(method: Function) -> tuple[str, ...]:
    """The attributes of an object that a method of it writes."""
    return tuple(
        node.attr
        for node in own_nodes(method.node, ast.Attribute)
        if isinstance(node.ctx, ast.Store)
        if isinstance(node.value, ast.Name) and node.value.id == "self"
    )


def _made_at(loader: TrainingLoader, made: Instance) -> Site:
    """The call that made an object, else the loader that is given it."""
    for event in loader.run.events:
        if isinstance(event, Call) and (event.name or "").rpartition(".")[2] == made.cls.name:
            given = {id(value) for value in (*event.args, *event.keywords.values())}
            if given and given <= {id(value) for value in made.made_with.values()}:
                return event.site
    return loader.site


# --- telling


def is_told(loader: TrainingLoader, sampler: EpochSampler) -> bool:
    """Whether an epoch is set, or a framework that does so has the loader, or code not followed may do so."""
    for event in loader.run.events:
        if isinstance(event, Call):
            if event.name == "set_epoch" and not _is_a_number(event.site.node):
                return True
            is_engine = event.name in {"prepare", "setup_dataloaders"}
            if is_engine and receiver_role(loader.run, event) is Role.ENGINE:
                return True
        elif isinstance(event, Assignment) and isinstance(event.target, ast.Attribute):
            is_own = isinstance(event.target.value, ast.Name) and event.target.value.id == "self"
            if event.target.attr in sampler.seeds and not is_own:
                return True
    return _may_be_told_elsewhere(loader)


def _is_a_number(node: ast.AST) -> bool:
    """`sampler.set_epoch(0)` says the same in every epoch."""
    return isinstance(node, ast.Call) and bool(node.args) and isinstance(node.args[0], ast.Constant)


def _may_be_told_elsewhere(loader: TrainingLoader) -> bool:
    """Whether a file that the walk went through tells an epoch in a function that the walk did not enter."""
    entered = {id(function.node) for event in loader.run.events for function in event.within}
    for source in {id(event.site.source): event.site.source for event in loader.run.events}.values():
        if "set_epoch" not in source.text:
            continue
        for function in loader.run.index.functions:
            if function.source is not source or id(function.node) in entered or function.name == "set_epoch":
                continue
            calls = (node for node in own_nodes(function.node, ast.Call))
            if any(bare_name(call) == "set_epoch" and not _is_a_number(call) for call in calls):
                return True
    return False
