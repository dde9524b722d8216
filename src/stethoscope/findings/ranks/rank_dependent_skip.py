"""Some ranks skip a call that all must make, and the others wait for them.

## What it checks
Collective calls (all_reduce, broadcast, barrier, gather and those of accelerate and fabric), backward
passes and weight updates of distributed programs: whether a condition on the rank, or an earlier return or
continue of some ranks, keeps part of them from it. Helpers are followed to the collective inside. A round
that a rank leaves out because of what its own batch holds keeps it from the backward pass of the others.
So does a way out of the training loop that asks for the rank, or for a mark that was set on some ranks only.

## Why it matters
A collective returns when every rank has called it. If rank 0 alone calls it, rank 0 waits until the time
limit ends the run, or it meets the next collective of the others and mixes up their data. A weight update
that only some ranks make leaves the replicas with different weights.

## When it is harmless
Where the other ranks make the same call in the other branch, or under the opposite condition (one rank
prepares the data while the others wait at a barrier). Collectives of a group of ranks are left alone, and a
mark to stop that is broadcast before the ranks ask for it.

## References
- torch.distributed, collective functions
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.evaluations import names_in
from stethoscope.program.loop.moves import Kind
from stethoscope.program.ranks.decisions import Decisions, Ranks
from stethoscope.program.ranks.lone_exits import lone_exits
from stethoscope.program.ranks.skipped_batches import skipped_batches
from stethoscope.program.walk.events import Call, Event, Scope
from stethoscope.program.walk.values import Site
from stethoscope.signals.processes import Processes

RULE = Rule(code="RNK101", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)

MODES = frozenset({"training", "is_training", "is_train", "train"})


def examine(processes: Processes) -> Iterator[Finding]:
    """Report each call that every rank must make and that a condition on the rank guards."""
    seen: set[ast.AST] = set()
    for ranks in processes.ranks:
        for event, what in _joint_events(ranks):
            condition = _parting(ranks, event)
            if condition is None:
                continue
            entry = _entered_at(ranks, event, condition)
            if entry.node in seen:
                continue
            seen.add(entry.node)
            asked = ast.unparse(condition.node)
            yield Finding(
                tuple(dict.fromkeys((entry.where, event.site.where, condition.source.where(condition.node)))),
                f"{what} only on the ranks that pass `{asked}`: the others never make the call",
                evidence={"call": event.site.text, "condition": asked},
                proof="a collective returns only when every rank has called it",
            )
        for jump, condition in lone_exits(ranks):
            if jump.site.node in seen:
                continue
            seen.add(jump.site.node)
            asked = ast.unparse(condition.node)
            yield Finding(
                (condition.source.where(condition.node), jump.site.where),
                f"only the ranks that pass `{asked}` leave the training loop: the others wait for them",
                evidence={"condition": asked},
                proof="a collective returns only when every rank has called it",
            )
        for move, condition in skipped_batches(ranks):
            if condition.node in seen:
                continue
            seen.add(condition.node)
            asked = ast.unparse(condition.node)
            yield Finding(
                (condition.source.where(condition.node), move.event.site.where),
                f"a rank whose own batch meets `{asked}` leaves the round out, and the others wait for it",
                evidence={"condition": asked, "call": move.event.site.text},
            )


def _joint_events(ranks: Ranks) -> Iterator[tuple[Event, str]]:
    """What all ranks must do together."""
    for call in ranks.collectives:
        yield call, f"{call.name}() is reached"
    is_spread = any("broadcast" in call.name for call in ranks.collectives)
    for move in ranks.walk.moves:
        if move.kind is Kind.BACKWARD:
            yield move.event, "the gradients are computed and averaged"
        elif move.updates and not is_spread:
            yield move.event, "the weights are updated"


def _parting(ranks: Ranks, event: Event) -> Scope | None:
    """The condition that parts the ranks, unless the rest of them make the same call elsewhere."""
    conditions = list(ranks.conditions(event))
    if not conditions:
        return _local_condition(ranks, event)
    scope, is_first = conditions[0]
    if _asks_for_mode(event, scope):
        return None
    name = event.name if isinstance(event, Call) else ""
    for other in ranks.collectives:
        if other.name == name and any(first is not is_first for _, first in ranks.conditions(other)):
            return None
    return scope


def _asks_for_mode(event: Event, condition: Scope) -> bool:
    """`if self.training:` below the condition: code for both modes may be run in the other one."""
    inside = itertools.takewhile(lambda scope: scope is not condition, event.scopes())
    return any(scope.kind == "if" and MODES.intersection(names_in(scope.node)) for scope in inside)


def _local_condition(ranks: Ranks, event: Event) -> Scope | None:
    """A condition on this rank's own loss around a collective; around the backward pass it is the loop's."""
    if event not in ranks.collectives:
        return None
    decisions = Decisions(ranks)
    return next((scope for scope in event.scopes() if decisions.is_local_condition(scope)), None)


def _entered_at(ranks: Ranks, event: Event, condition: Scope) -> Site:
    """The call directly below the condition that leads to the event."""
    inside: list[Scope] = []
    for scope in event.scopes():
        if scope is condition:
            outermost = next((s for s in reversed(inside) if s.kind == "call"), None)
            call = ranks.walk.call_of(outermost) if outermost is not None else None
            return call.site if call is not None else event.site
        inside.append(scope)
    return event.site
