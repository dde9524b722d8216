"""Replicas that begin with weights of their own.

A wrapper of torch sends the weights of the first rank to all others when it is made. Who averages gradients
without one must do so too, or make all ranks draw the same weights. What the first rank alone loads behind
that moment is its own: weights, or the state of an optimizer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import called_network
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.ranks.decisions import Ranks
from stethoscope.program.ranks.shares import has_rank
from stethoscope.program.walk.events import Call, Scope
from stethoscope.program.walk.networks import networks
from stethoscope.program.walk.values import Applied, Instance, Value

SEEDING = frozenset({"manual_seed", "seed_everything", "set_seed", "manual_seed_all"})
WRAPPING = frozenset({
    "DistributedDataParallel", "DDP", "FullyShardedDataParallel", "FSDP", "fully_shard", "initialize",
    "prepare",
})  # fmt: skip
REPLICATING = frozenset({"DistributedDataParallel", "DDP"})
SENDING = ("broadcast", "sync", "scatter")
ALIKE = (*SENDING, "load_state_dict", "from_pretrained")


@dataclass(frozen=True, slots=True, eq=False)
class PartedReplicas:
    """A seed that differs from rank to rank, the network made behind it, and where gradients are averaged."""

    seed: Call
    made: Call
    averaged: Call


def parted_replicas(ranks: Ranks) -> Iterator[PartedReplicas]:
    """The networks that every rank begins with weights of its own."""
    run = ranks.walk.trace.run
    calls = [event for event in ranks.walk.trace.events if isinstance(event, Call)]
    averaged = next((one for one in ranks.collectives if _is_of_gradients(one)), None)
    if averaged is None or any(_makes_alike(call) for call in calls):
        return
    made_at = {id(node) for node in _makers(ranks)}
    for place, seed in enumerate(calls):
        if seed.name not in SEEDING or not any(has_rank(run, given) for given in seed.args):
            continue
        later = calls[place + 1 :]
        made = next((call for call in later if id(call.site.node) in made_at), None)
        # A seed that all ranks share, set in between, makes them draw the same.
        between = later[: later.index(made)] if made is not None else []
        if made is not None and not any(call.name in SEEDING for call in between):
            yield PartedReplicas(seed, made, averaged)
            return


def loaded_on_some(ranks: Ranks) -> Iterator[tuple[Call, Scope]]:
    """Each state that only some ranks load, and that nothing sends to the others, with its condition."""
    calls = [event for event in ranks.walk.trace.events if isinstance(event, Call)]
    wrapped: list[Value] = []
    for place, call in enumerate(calls):
        if _last_name(call) in REPLICATING and call.args:
            wrapped.extend(networks(call.args[0]))
        if call.name != "load_state_dict" or call.receiver is None:
            continue
        condition, is_first = next(ranks.conditions(call), (None, True))
        if condition is None or not _is_replicated(ranks, call.receiver, wrapped):
            continue
        others = (one for one in calls if one.name == call.name and one is not call)
        is_shared = any(first is not is_first for one in others for _, first in ranks.conditions(one))
        later = (one.name for one in calls[place:])
        if not is_shared and not any(word in name for name in later for word in SENDING):
            yield call, condition


def _is_replicated(ranks: Ranks, receiver: Value, wrapped: list[Value]) -> bool:
    """Whether a state is that of an optimizer, or of a network that was wrapped before."""
    if role_of(ranks.walk.trace.run, receiver) is Role.OPTIMIZER:
        return True
    return any(one is network for one in networks(receiver) for network in wrapped)


def _last_name(call: Call) -> str:
    return str(getattr(call.callee, "name", "")).rpartition(".")[2] or call.name


def _is_of_gradients(call: Call) -> bool:
    around = (function.name for function in call.within)
    return "reduce" in call.name and any("grad" in text for text in (call.site.text, *around))


def _makes_alike(call: Call) -> bool:
    return _last_name(call) in WRAPPING or any(word in call.name for word in ALIKE)


def _makers(ranks: Ranks) -> Iterator[ast.AST]:
    """The calls that make the networks which are trained."""
    walk = ranks.walk
    trained = (e for e in walk.trace.events if isinstance(e, Call) and id(e) in walk.trained)
    found = [one for run in trained for one in networks(called_network(Move(Kind.FORWARD, run)))]
    for event in walk.trace.events:
        if isinstance(event, Call) and any(_is_maker(event, network) for network in found):
            yield event.site.node


def _is_maker(event: Call, network: Value) -> bool:
    if isinstance(network, Applied):
        return event.site.node is network.site.node
    return isinstance(network, Instance) and event.receiver is None and event.name == network.cls.name
