"""Networks that several processes train, each for itself: nothing in the program shares their gradients."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stethoscope.program.loop.moves import Kind
from stethoscope.program.ranks.decisions import Ranks
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

# Anything that could bring gradients or weights together, or is run by something that does.
_SHARING = re.compile(
    r"(?i)ddp|fsdp|parallel|shard|replicate|deepspeed|horovod|hvd|reduce|gather|broadcast|scatter|accelerat|fabric"
    r"|average|sync(?!_?batch)|trainer|engine|zero|bagua|colossal|megatron|mpu|mesh|pipeline|rpc|irecv|isend|p2p|gossip"
)
_HARMLESS = re.compile(
    r"(?i)^(?:zero_grad|zeros|zeros_like|synchronize|distributedsampler|data_?parallel_rank)$"
)
# What a network goes through and stays itself.
_KEEPING = frozenset(
    {"to", "cuda", "cpu", "train", "eval", "float", "half", "bfloat16", "compile", "requires_grad_"}
)


def never_shared(ranks: Ranks) -> Iterator[tuple[Site, Site]]:
    """Where a group of processes is made, and where a network is trained that nothing brings together.

    The data must be divided among the processes, so that they are meant to learn together, and the trained
    network must be made in sight: what an unknown function returns may be wrapped already.
    """
    walk = ranks.walk
    calls = [event for event in walk.trace.events if isinstance(event, Call)]
    begun = next((call for call in calls if _last(call) == "init_process_group"), None)
    divided = any(_last(call) == "DistributedSampler" for call in calls)
    backward = next((move.event for move in walk.moves if move.kind is Kind.BACKWARD), None)
    sources = walk.trace.run.index.program.sources
    if begun is None or not divided or backward is None or any(map(_shares, sources)):
        return
    if _is_made_in_sight(backward.site.source):
        yield begun.site, backward.site


def _last(call: Call) -> str:
    return bare_name(call.site.node) if isinstance(call.site.node, ast.Call) else ""


def _shares(source: Source) -> bool:
    """Whether a file uses a name that speaks of bringing ranks together; an import is no use."""
    return any(_SHARING.search(name) and not _HARMLESS.match(name) for name in _used(source))


def _used(source: Source) -> Iterator[str]:
    for node in all_nodes(source.tree):
        if isinstance(node, ast.Call):
            yield bare_name(node)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def _is_made_in_sight(source: Source) -> bool:
    """Whether every network that an optimizer gets comes from a class that is named where it is made."""
    nodes = list(all_nodes(source.tree))
    trained = {
        one.func.value.id
        for one in nodes
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr == "parameters"
        and isinstance(one.func.value, ast.Name)
    }
    made = [
        one.value
        for one in nodes
        if isinstance(one, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id in trained for target in one.targets)
    ]
    return bool(made) and all(_is_class_or_itself(value, trained) for value in made)


def _is_class_or_itself(value: ast.expr, names: set[str]) -> bool:
    while isinstance(value, ast.Call) and bare_name(value) in _KEEPING:
        inner = (
            value.args[0]
            if bare_name(value) == "compile" and value.args
            else getattr(value.func, "value", None)
        )
        if inner is None:
            return False
        value = inner
    if isinstance(value, ast.Name):
        return value.id in names
    return isinstance(value, ast.Call) and bare_name(value)[:1].isupper()
