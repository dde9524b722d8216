"""The learning rate grows with the number of processes by more than the batch does.

## What it checks
How often the learning rate is multiplied with the number of processes on its way into the optimizer and the
schedule, and whether the batch of each process is divided by that number.

## Why it matters
A rate is scaled because the batch of all processes together is larger. Where the batch is shared out among
them it stays the same, and where the rate is scaled in two places it grows with the square: the run is
stable on one device and diverges on eight.

## When it is harmless
A rate that grows once, with a batch per process that stays as it is, follows the linear rule. Dividing both
by the number of processes keeps them together.

## References
- Goyal et al., Accurate, Large Minibatch SGD, 2017
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.roles import OPTIMIZER_CLASSES
from stethoscope.program.ranks.decisions import Ranks
from stethoscope.program.ranks.shares import lambda_power, world_power
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Value
from stethoscope.signals.processes import Processes
from stethoscope.signals.training_data import TrainingLoaders

RULE = Rule(code="RNK142", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

LEAST = 0.75  # powers of the number of processes beyond the batch's: a square root is one half


def examine(processes: Processes, loaders: TrainingLoaders | None) -> Iterator[Finding]:
    """Report each optimizer whose rate outgrows the batch of all processes together."""
    seen: set[object] = set()
    for ranks in processes.ranks:
        batches = _batches(ranks, loaders)
        grown = 1.0 + min((power for _, power in batches), default=0.0)
        for call, rate in _rates(ranks):
            power = world_power(ranks.walk.trace.run, rate) + _of_schedules(ranks)
            if power < LEAST or power - grown < LEAST or call.site.node in seen:
                continue
            seen.add(call.site.node)
            shared = [batch for batch, one in batches if one <= -1.0]
            why = (
                "though the processes share one batch out among them"
                if shared
                else f"{power:.3g} times over, and the batch only once"
            )
            yield Finding(
                (call.site.where, *(batch.site.where for batch in shared[:1])),
                f"the learning rate is multiplied with the number of processes {why}",
                evidence={"rate_power": power, "batch_power": grown},
            )


def _rates(ranks: Ranks) -> Iterator[tuple[Call, Value]]:
    """The optimizers that are made, with the rate that each is given."""
    for event in ranks.walk.trace.events:
        if not isinstance(event, Call):
            continue
        name = str(getattr(event.callee, "name", "")).rpartition(".")[2] or event.name
        rate = event.argument(1, "lr")
        if name in OPTIMIZER_CLASSES and rate is not None:
            yield event, rate


def _of_schedules(ranks: Ranks) -> float:
    """What the schedules multiply the rate with besides."""
    calls = (event for event in ranks.walk.trace.events if isinstance(event, Call))
    return max(
        (lambda_power(call.argument(1, "lr_lambda")) for call in calls if call.name == "LambdaLR"),
        default=0.0,
    )


def _batches(ranks: Ranks, loaders: TrainingLoaders | None) -> list[tuple[Call, float]]:
    """The training loaders of a walk, with the power of the number of processes in their batch."""
    trace = ranks.walk.trace
    drawn = {
        id(loader.site.node)
        for loader in loaders or ()
        if loader.loop is not None and loader.loop.trace is trace
    }
    found = []
    for event in trace.events:
        if isinstance(event, Call) and id(event.site.node) in drawn:
            found.append((event, world_power(trace.run, event.argument(1, "batch_size"))))
    return found
