"""Outputs that a loss takes as logits and a measurement holds against a probability, followed by value.

The key that leads to an output tells which one it is: `out["tags"]` in the loss and in the score.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.data.ingredients import LAYOUT
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.evaluation.thresholds_on_logits import HALF, WITH_LOGITS, OnLogits
from stethoscope.program.loop.moves import Kind
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.networks import networks
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Part,
    Site,
    Value,
    inputs,
)

DEPTH = 20
NEAR = 4  # steps from what an event holds to a comparison in it
ABOVE = frozenset({">", ">=", ".gt", ".ge", "torch.gt", "torch.ge"})
Output = tuple[int, tuple[str, ...]]  # a network, and the keys that lead to one of its outputs


def thresholds_by_value(walk: Walk) -> Iterator[OnLogits]:
    """The comparisons of a walk with 0.5 of what its loss takes as logits."""
    run = walk.trace.run
    run.steps = max(run.steps, STEPS // 4)
    try:
        logits = {output: site for loss in _losses(walk) for output, site in _outputs(run, loss, DEPTH)}
        for comparison, compared in _comparisons(walk.trace.events) if logits else ():
            for output, site in _outputs(run, compared, DEPTH):
                if output in logits:
                    yield OnLogits(comparison.site, site)
    except (Exhausted, RecursionError):
        return


def _losses(walk: Walk) -> Iterator[Value]:
    """What losses with logits are given, among those that are minimised."""
    for move in walk.moves:
        if move.kind is Kind.BACKWARD and move.subject is not None:
            for value in ancestry(walk.trace.run, move.subject):
                if isinstance(value, Applied) and value.callee.removesuffix("()").endswith(WITH_LOGITS):
                    yield value.args[0] if value.args else value.keywords.get("input", value)


def _comparisons(events: tuple[Event, ...]) -> Iterator[tuple[Applied, Value]]:
    seen: set[int] = set()
    for event in events:
        held: list[Value] = []
        if isinstance(event, Assignment):
            held = [event.value]
        elif isinstance(event, Call):
            held = [*event.args, *([event.receiver] if event.receiver is not None else [])]
        for _ in range(NEAR):
            held = [one for one in held if id(one) not in seen]
            seen |= {id(one) for one in held}
            for one in held:
                if isinstance(one, Applied) and one.callee in ABOVE and len(one.args) == 2:
                    bound = one.args[1]
                    if isinstance(bound, Constant) and bound.value == HALF:
                        yield one, one.args[0]
            held = [inner for one in held if isinstance(one, Applied) for inner in inputs(one)]


def _outputs(run: Execution, value: Value, depth: int) -> Iterator[tuple[Output, Site]]:
    """The outputs of networks that a value is, views and casts aside."""
    keys: list[str] = []
    while depth:
        depth -= 1
        match value:
            case Applied(callee="[]", args=(base, key)):
                keys += [key.value] if isinstance(key, Constant) and isinstance(key.value, str) else []
                value = base
            case Part(base=base, key=name):
                keys += [str(name)] if name != "*" else []
                value = base
            case Applied(callee=callee, args=(first, *_)) if callee.rpartition(".")[2] in LAYOUT:
                value = first
            case Choice(options=options):
                for option in options:
                    for (network, inner), site in _outputs(run, option, depth):
                        yield (network, (*keys, *inner)), site
                return
            case Applied() | Delayed() if is_model_call(run.index, value):
                for run_through in networks(_network(value)):
                    if isinstance(run_through, Instance) and "igmoid" in _written(run_through):
                        continue  # then the loss is wrong, and the probability is one
                    yield (id(run_through), tuple(keys)), value.site
                return
            case Delayed():
                value = quietly(run, value)
            case _:
                return


def _written(network: Instance) -> str:
    """The source of a class."""
    node = network.cls.node
    return "\n".join(network.cls.source.text.split("\n")[node.lineno - 1 : node.end_lineno])


def _network(value: Applied | Delayed) -> Value | None:
    if isinstance(value, Delayed):
        return value.callee.bound if isinstance(value.callee, FunctionValue) else None
    return value.maker or (value.args[0] if value.args else None)
