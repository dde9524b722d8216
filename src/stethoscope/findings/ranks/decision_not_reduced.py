"""Each rank decides for itself when to stop or slow down, by the part of the data it saw.

## What it checks
Breaks and returns out of training loops, conditions of `while` loops, updates of the weights and steps of a
schedule that a condition guards, steps of ReduceLROnPlateau, and rates set by hand (`group["lr"] *= 0.5`),
in distributed programs: whether they depend on a loss or score of this rank's own data, or on its clock,
and no collective made that the same on all ranks. Counters of bad epochs and early-stopping objects are
followed. So are hooks of Lightning that set `trainer.should_stop`.

## Why it matters
The ranks see different data, so one of them decides first. It leaves the loop while the others wait for its
gradients, leaves an update out that the others make, or trains on with another learning rate, and the
replicas drift apart.

## When it is harmless
A score over the whole validation set, computed by every rank alike, is the same everywhere. A decision that
is reduced, gathered or broadcast before it is acted on is everybody's. Which rank saves its best weights is
not judged.

## References
- torch.distributed.all_reduce
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.edits.statements import blocks_around
from stethoscope.program.loop.moves import Kind
from stethoscope.program.ranks.agreed_decisions import (
    agreed_by_all,
    asked_through,
    averaged_over_all,
    device_of_ranks,
    engine_at,
)
from stethoscope.program.ranks.decisions import Decisions, Ranks, is_clock
from stethoscope.program.resume.checkpointing import made_by
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Assignment, Call, Event, Jump, Scope
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.callback_stops import CallbackStops
from stethoscope.signals.processes import Processes

RULE = Rule(code="RNK102", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(processes: Processes | None, stops: CallbackStops | None) -> Iterator[Finding]:
    """Report each decision about training that the ranks did not take together."""
    if processes is None and stops is None:
        raise InsufficientData("nothing in the source trains with several processes")
    for stop in stops or ():
        asked = ast.unparse(stop.test)
        own = "clock" if stop.by_clock else "part of the data"
        yield Finding(
            stop.source.where(stop.test),
            f"each rank sets should_stop by `{asked}`, which depends on its own {own}",
            evidence={"decision": asked},
        )
    seen: set[ast.AST] = set()
    for ranks in processes.ranks if processes is not None else ():
        decisions = Decisions(ranks)
        found = (*_ends(ranks, decisions), *_slowings(ranks, decisions), *_skips(ranks, decisions))
        for scope, what in found:
            node = scope.node if isinstance(scope, Scope) else scope.site.node
            if node in seen:
                continue
            seen.add(node)
            place = scope.source.where(node) if isinstance(scope, Scope) else scope.site.where
            asked = ast.unparse(node.test if isinstance(node, ast.While) else node)
            asks = scope.value if isinstance(scope, Scope) else None
            own = "clock" if any(map(is_clock, ancestry(ranks.walk.trace.run, asks))) else "part of the data"
            yield Finding(
                place,
                f"each rank {what} by `{asked}`, which depends on its own {own}",
                evidence={"decision": asked},
                fix=_fix(ranks, decisions, scope),
            )


def _ends(ranks: Ranks, decisions: Decisions) -> Iterator[tuple[Scope | Call, str]]:
    """Conditions under which a loop that trains is left."""
    training = ranks.walk.training_scopes
    for event in ranks.walk.trace.events:
        if not isinstance(event, Jump) or event.kind not in {"break", "return"} or event.leaves is None:
            continue
        if id(event.leaves) not in training or not any(s.kind == "loop" for s in event.scopes()):
            continue
        for scope in event.scopes():
            if scope is event.leaves:
                break
            if scope.kind == "if" and decisions.local.get(id(scope)):
                yield scope, "leaves the training loop"
                break
    for scope in {id(s): s for e in ranks.walk.trace.events for s in e.scopes()}.values():
        if scope.kind == "loop" and id(scope) in training and decisions.local.get(id(scope)):
            yield scope, "ends training"


def _slowings(ranks: Ranks, decisions: Decisions) -> Iterator[tuple[Scope | Call, str]]:
    """Steps of a schedule that follows a score."""
    for move in ranks.walk.moves:
        call = move.event
        if move.kind is not Kind.SCHEDULER_STEP or not isinstance(call, Call):
            continue
        metric = call.argument(0, "metrics")
        if made_by(move.subject) == "ReduceLROnPlateau" and decisions.is_local(metric):
            yield call, "lowers its learning rate"
    for event in ranks.walk.trace.events:
        if isinstance(event, Assignment) and _sets_rate(event.target):
            asked = next((s for s in event.scopes() if s.kind == "if" and decisions.local.get(id(s))), None)
            if asked is not None:
                yield asked, "sets its learning rate"


def _skips(ranks: Ranks, decisions: Decisions) -> Iterator[tuple[Scope | Call, str]]:
    """Updates and steps of a schedule that each rank makes or leaves out by its own loss."""
    for move in ranks.walk.moves:
        is_scheduled = move.kind is Kind.SCHEDULER_STEP
        if not (move.updates or is_scheduled):
            continue
        asked = next((s for s in move.event.scopes() if s.kind == "if" and decisions.local.get(id(s))), None)
        if asked is not None and not _computes_gradients(ranks, asked):
            yield asked, "moves its schedule" if is_scheduled else "updates its weights"


def _computes_gradients(ranks: Ranks, scope: Scope) -> bool:
    """Whether the backward pass is under the condition too: the others then wait, which is another fault."""
    backward = (move.event for move in ranks.walk.moves if move.kind is Kind.BACKWARD)
    return any(one is scope for event in backward for one in event.scopes())


def _sets_rate(target: ast.expr) -> bool:
    """`group["lr"]` of an optimizer."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant):
        return False
    return target.slice.value == "lr"


def _fix(ranks: Ranks, decisions: Decisions, scope: Scope | Call) -> Fix | None:
    """The decision taken by all ranks together: what one of them says counts for all."""
    trace = ranks.walk.trace
    device = device_of_ranks(trace)
    if isinstance(scope, Call):
        comes = _all_come_here(ranks, decisions, scope.scope, scope)
        splices = _averaged(ranks, scope, device) if device is not None and comes else ()
        return Fix("follow the mean of all ranks", Level.UNSAFE, splices) if splices else None
    inside = (event for event in trace.events if any(one is scope for one in event.scopes()))
    first = next(inside, None)
    engine = engine_at(trace, first) if first is not None else None
    if scope.kind != "if" or not isinstance(scope.node, ast.expr) or first is None:
        return None
    if not _all_come_here(ranks, decisions, scope.outer, first):
        return None
    if engine is not None:
        splices = asked_through(*engine, scope.source, trace.run.index, scope.node)
    elif device is not None:
        splices = agreed_by_all(trace.run.index, scope.source, scope.node, device)
    else:
        return None
    return Fix("let the ranks decide together", Level.UNSAFE, splices) if splices else None


def _all_come_here(ranks: Ranks, decisions: Decisions, outer: Scope | None, first: Event) -> bool:
    """Whether no rank goes another way before: a collective that some of them never call waits for ever."""
    around = {id(one) for one in outer.outwards()} if outer is not None else set()
    if any(decisions.local.get(one) for one in around):
        return False
    for event in ranks.walk.trace.events[: ranks.walk.place(first)]:
        if not isinstance(event, Jump) or event.leaves is None or id(event.leaves) not in around:
            continue
        if any(decisions.local.get(id(one)) for one in event.scopes() if id(one) not in around):
            return False
    return True


def _averaged(ranks: Ranks, step: Call, device: str) -> tuple[Splice, ...]:
    node, source = step.site.node, step.site.source
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return ()
    block, position = blocks_around(source, node)[0]
    return averaged_over_all(ranks.walk.trace.run.index, source, block[position], node.args[0], device)
