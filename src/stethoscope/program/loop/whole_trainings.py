"""Loops whose rounds are trainings of their own: folds, members of an ensemble, optimizers that are compared.

What such a round sets up anew belongs to one training, and nothing that it learns reaches the next round. So
it is with a round that searches something for one sample: an attack, a latent code, an explanation.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.parameter_owners import holder_of, is_of_plain_tensors
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.events import Call, Event, Scope
from stethoscope.program.walk.graphs import network_run
from stethoscope.program.walk.networks import networks
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import Applied, ClassValue, Delayed, Instance, Value

COPYING = frozenset({"deepcopy", "clone", "copy"})


def makes_its_network(trace: Trace, moves: Iterable[Move], loop: Scope) -> bool:
    """Whether each round of a loop makes a network that it runs."""
    runs = (move.event for move in moves if move.kind is Kind.FORWARD and _is_in(move.event, loop))
    ran = {id(one): one for call in runs if isinstance(call, Call) for one in networks(network_run(call))}
    made = [event for event in trace.events if isinstance(event, Call) and _is_in(event, loop)]
    return bool(ran) and any(any(_makes(call, network) for call in made) for network in ran.values())


def searches_for_samples(loop: TrainingLoop) -> bool:
    """Whether a loop moves no weights: it searches something for each sample by itself."""
    steps = [move for move in loop.moves if move.updates]
    made = [holder for step in steps for holder in holder_of(loop.trace, step.subject) or (None,)]
    if made:
        return all(one is not None and is_of_plain_tensors(one) for one in made)
    return loop.hook is None and loop.is_whole and not steps and _follows_its_input(loop)


def _follows_its_input(loop: TrainingLoop) -> bool:
    """`x.grad.sign()` of what a network was given, where nothing updates and nothing steps."""
    functions = {id(one): one for move in loop.moves for one in move.event.within}
    texts = [ast.unparse(one.node) for one in functions.values()]
    return bool(texts) and not any("step(" in text or ".data" in text for text in texts)


def _makes(call: Call, network: Value) -> bool:
    match network:
        case Applied() | Delayed():
            return network.site.node is call.site.node
        case Instance(cls=cls):
            is_copied = call.name in COPYING and any(
                one is network for given in call.args for one in networks(given)
            )
            return is_copied or (isinstance(call.callee, ClassValue) and call.callee.cls is cls)
    return False


def _is_in(event: Event, loop: Scope) -> bool:
    return any(scope is loop for scope in event.scopes())
