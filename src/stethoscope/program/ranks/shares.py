"""Numbers that each rank has for itself, the number of ranks, and how both get into data, batch and rate."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stethoscope.program.likenesses import words
from stethoscope.program.ranks.rank_numbers import RANKS, VARIABLES
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    Instance,
    LambdaValue,
    Leaf,
    Part,
    Value,
)

WORLDS = frozenset({
    "world_size", "worldsize", "num_processes", "nprocs", "n_gpus", "num_gpus", "ngpus", "n_gpu", "num_gpu",
    "num_replicas", "num_devices", "world", "nproc_per_node", "gpus",
})  # fmt: skip
WORLD_VARIABLES = frozenset({"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"})
ASKING = frozenset({"get_world_size", "device_count", "num_processes"})
SHARDING = re.compile(
    r"rank|world|shard|get_worker_info|num_replicas|process_index|num_processes|split_by_node|local_slice",
    re.IGNORECASE,
)
DEPTH = 12
LOOKED_INTO = 3  # objects inside objects


def has_rank(run: Execution, value: Value | None) -> bool:
    """Whether a value depends on which rank this is, as far as it was followed."""
    return any(is_rank(one) for one in _inside(run, value, LOOKED_INTO))


def may_be_own(run: Execution, value: Value | None) -> bool:
    """Whether data may be another on each rank: they depend on the rank, or their class speaks of it."""
    for one in _inside(run, value, LOOKED_INTO):
        if is_rank(one) or world_power(run, one, 1):
            return True
        if isinstance(one, Instance) and SHARDING.search(ast.unparse(one.cls.node)):
            return True
        if isinstance(one, Applied) and SHARDING.search(one.callee.rpartition(".")[2]):
            return True
        if isinstance(one, Delayed) and _speaks_of_ranks(one):
            return True
    return False


def _speaks_of_ranks(call: Delayed) -> bool:
    function = getattr(call.callee, "function", None)
    return function is not None and bool(SHARDING.search(ast.unparse(function.node)))


def _inside(run: Execution, value: Value | None, depth: int) -> Iterator[Value]:
    """All that a value was made from, through the objects it holds."""
    for one in ancestry(run, value):
        yield one
        if isinstance(one, Instance) and depth:
            for held in (*one.made_with.values(), *one.attributes.values()):
                if held is not one:
                    yield from _inside(run, held, depth - 1)


def is_rank(value: Value) -> bool:
    """Whether a value is the number of this rank, or is asked of what tells it."""
    match value:
        case Applied(callee=callee, args=args):
            if callee.rpartition(".")[2] in {"get_rank", "get_local_rank", "get_global_rank"}:
                return True
            return any(isinstance(one, Constant) and one.value in VARIABLES for one in args)
        case Leaf(name=name):
            return name in RANKS
        case Part(key=str() as key):
            return key in RANKS | VARIABLES
    return False


def world_power(run: Execution, value: Value | None, depth: int = DEPTH) -> float:
    """How often a number is multiplied with the number of ranks; below zero where it is divided by it."""
    if value is None or depth == 0:
        return 0.0
    match value:
        case Choice(options=options):
            return max((world_power(run, one, depth - 1) for one in options), default=0.0, key=abs)
        case Delayed():
            answer = quietly(run, value)
            return world_power(run, answer, depth - 1) if answer is not value else 0.0
        case Leaf(name=name):
            return float(name in WORLDS)
        case Part(key=str() as key, base=base):
            return float(key in WORLDS | WORLD_VARIABLES or (key == "size" and _is_world(base)))
        case Applied(callee=callee, args=args):
            return _power_of_call(run, callee, args, depth)
    return 0.0


def _is_world(value: Value) -> bool:
    return isinstance(value, Leaf | Part) and "world" in words(
        str(getattr(value, "name", getattr(value, "key", "")))
    )


def _power_of_call(run: Execution, callee: str, args: tuple[Value, ...], depth: int) -> float:
    last = callee.rpartition(".")[2]
    if last in ASKING or any(isinstance(one, Constant) and one.value in WORLD_VARIABLES for one in args):
        return 1.0
    powers = [world_power(run, one, depth - 1) for one in args]
    if callee == "*":
        return sum(powers)
    if callee in {"/", "//"} and len(powers) == 2:
        return powers[0] - powers[1]
    if callee == "**" and len(args) == 2 and isinstance(args[1], Constant):
        return powers[0] * args[1].value if isinstance(args[1].value, int | float) else 0.0
    if last == "sqrt" and powers:
        return powers[0] / 2
    if callee in {"+", "-", "int", "float", "max", "min", "round", "neg"}:
        return max(powers, default=0.0, key=abs)
    return 0.0


def lambda_power(value: Value | None) -> float:
    """How often a schedule multiplies its factor with the number of ranks: `lambda step: world * f(step)`."""
    if not isinstance(value, LambdaValue):
        return 0.0
    for node in all_nodes(value.node.body):
        match node:
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                if _names_world(left) or _names_world(right):
                    return 1.0
    return 0.0


def _names_world(node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name):
            return name in WORLDS - {"world"}
        case ast.Attribute(value=base, attr=attr):
            last = getattr(base, "attr", getattr(base, "id", ""))
            return attr in WORLDS or (attr == "size" and "world" in words(last))
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in ASKING
    return False
