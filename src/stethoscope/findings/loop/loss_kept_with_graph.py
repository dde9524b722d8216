"""A loss is kept together with its graph, so memory grows with every batch.

## What it checks
Running sums (`total += loss`), lists (`losses.append(loss)`) and meters that outlive a round of the
training loop, and get the loss, one of its terms or the network's output as it is, without `.item()`,
`.detach()` or `float()`. The value is followed into the repository's own meters, and out of generators. In
validation loops the same, where nothing switches gradients off.

## Why it matters
A tensor that needs a gradient holds the graph that made it. In validation without `no_grad` that is every
activation of every batch; after a backward pass it is still the nodes of the graph. The run slows down and
dies of memory late in an epoch, far from the line at fault.

## When it is harmless
A sum that is itself what `backward()` is called on (several terms, several time steps). A sum or list that
each round begins anew. Values kept under `no_grad`. A bounded queue. A list that ends with the epoch is
only noted: backward has freed the activations, and what remains of the graphs goes with the list.

## References
- PyTorch FAQ: My model reports "cuda runtime error(2): out of memory"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import is_name_chain
from stethoscope.program.evaluation.evaluations import names_in
from stethoscope.program.index import Function
from stethoscope.program.likenesses import words
from stethoscope.program.loop.gradient_modes import without_gradients
from stethoscope.program.loop.keeping_losses import kept_by_losses
from stethoscope.program.loop.kept_values import (
    GROWING,
    Kept,
    collected,
    ends_with_epoch,
    gathered,
    is_emptied,
    kept_values,
)
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.ancestry import ancestry, cuts_gradient
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Assignment, Call, Event, Scope
from stethoscope.program.walk.graphs import has_graph
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import Applied, Items, Table, Value, span_of
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP111", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

EVALUATION = frozenset({"val", "valid", "validate", "validation", "eval", "evaluate", "evaluation", "test"})


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each loss that is kept with its graph."""
    told: set[int] = set()
    for loop in loops:
        for kept in (*_in_training(loop), *_given_out(loop), *_by_criteria(loop)):
            if id(kept.event.site.node) not in told:
                told.add(id(kept.event.site.node))
                ends = is_emptied(kept) or (ends_with_epoch(kept) and not _retains(loop))
                what = "every batch until the epoch ends" if ends else "every batch"
                yield _finding(kept, what, Severity.NOTE if ends else None)
    for trace in dict.fromkeys(loop.trace for loop in loops):
        for kept in _in_evaluation(trace):
            if id(kept.event.site.node) not in told:
                told.add(id(kept.event.site.node))
                yield _finding(kept, "every batch of the evaluation, which runs with gradients on")


def _retains(loop: TrainingLoop) -> bool:
    """Whether a backward pass leaves in the graph what the network computed."""
    calls = (move.event for move in loop.of(Kind.BACKWARD))
    return any(isinstance(call, Call) and "retain_graph" in call.keywords for call in calls)


def _finding(kept: Kept, what: str, severity: Severity | None = None) -> Finding:
    site = kept.event.site
    written = ast.unparse(kept.written)
    splices = _detached(kept)
    return Finding(
        where=site.where,
        message=f"{kept.name} keeps {written} with its graph, for {what}",
        evidence={"kept in": kept.name, "value": written},
        strength=0.0 if severity is Severity.NOTE else 1.0,  # a note is no evidence of harm
        severity=severity,
        fix=Fix("keep the number without its graph", _level(kept), splices) if splices else None,
    )


def _detached(kept: Kept) -> tuple[Splice, ...]:
    """The kept value without its graph, where it is written as one value."""
    value = kept.written
    if isinstance(value, ast.List | ast.Tuple) and len(value.elts) == 1:
        value = value.elts[0]  # losses += [loss]
    is_gathered = isinstance(kept.event, Call) and kept.event.name not in GROWING
    if isinstance(kept.value, Items | Table):
        return ()
    if is_gathered or isinstance(value, ast.List | ast.Tuple | ast.Dict | ast.ListComp | ast.DictComp):
        return ()
    source = kept.event.site.source
    span = span_of(source, value)
    written = ast.unparse(value)
    text = f"{written}.detach()" if is_name_chain(value) else f"({written}).detach()"
    return (Splice(source.file, *span, text),) if span is not None else ()


def _level(kept: Kept) -> Level:
    """What a meter gets as a parameter may be a plain number elsewhere, which cannot be detached."""
    inside = kept.event.within[-1] if kept.event.within else None
    given = set(inside.parameters) if inside is not None else set()
    names = {node.id for node in all_nodes(kept.written, ast.Name)}
    return Level.UNSAFE if names & given else Level.SAFE


def _in_training(loop: TrainingLoop) -> Iterator[Kept]:
    if loop.hook is None and not any(move.updates for move in loop.moves):
        return  # a loop over the micro-batches of one update, which begins its sums anew
    losses = [move.subject for move in loop.of(Kind.BACKWARD) if move.subject is not None]
    if not losses and loop.trace.loss is not None:
        losses = [loop.trace.loss]  # what a hook gives back, its framework minimises
    # What a module begins when it is made, a framework calls its hook on for a whole run.
    events = [event for event in loop.events if loop.hook is None or not _is_making(event)]
    for kept in kept_values(events):
        if _is_made_without_gradients(kept) or _is_detached(kept):
            continue
        if _is_minimised(loop, kept, losses):
            continue
        is_hook = loop.hook is not None and not loop.of(Kind.BACKWARD)
        if (is_hook and _is_kept_loss(loop.trace, kept)) or _is_with_gradient(loop, kept, losses):
            yield kept


def _is_made_without_gradients(kept: Kept) -> bool:
    """Whether what is kept is computed under no_grad: a sum there, or `kept.append(loss.clone())`.

    A loss that has its graph already, and is only put into a list there, keeps it.
    """
    if not without_gradients(kept.event):
        return False
    is_computed = isinstance(kept.written, ast.Call | ast.BinOp | ast.UnaryOp)
    return isinstance(kept.event, Assignment) or (
        is_computed and not isinstance(kept.value, Items | Table)  # dict(loss=loss) computes nothing
    )


def _is_detached(kept: Kept) -> bool:
    """`detach(log)`: a function of the repository that detaches what a dictionary holds."""
    return isinstance(kept.written, ast.Call) and "detach" in words(bare_name(kept.written))


def _given_out(loop: TrainingLoop) -> Iterator[Kept]:
    """What is kept of a generator that trains and gives its losses one by one, and of a function that a
    comprehension calls for each batch."""
    losses = [move.subject for move in loop.of(Kind.BACKWARD) if move.subject is not None]
    inside = {id(event) for event in loop.events}
    others = [event for event in loop.trace.events if id(event) not in inside]
    found = [kept for event in loop.events for kept in collected(event) if _trains(loop, kept)]
    if _is_generator(loop) or not loop.is_seen:
        found.extend(gathered(others))
    for kept in found:
        if _is_with_gradient(loop, kept, losses) and not _is_minimised(loop, kept, losses):
            yield kept


def _by_criteria(loop: TrainingLoop) -> Iterator[Kept]:
    """What the objects that compute the loss keep of it."""
    for move in loop.of(Kind.BACKWARD):
        for kept in kept_by_losses(loop.run, move.subject):
            if has_graph(loop.trace, kept.value) and not without_gradients(kept.event):
                yield kept


def _is_generator(loop: TrainingLoop) -> bool:
    functions = loop.events[0].within[-1:] if loop.events else ()
    return any(isinstance(node, ast.Yield) for function in functions for node in own_nodes(function.node))


def _trains(loop: TrainingLoop, kept: Kept) -> bool:
    """Whether a comprehension calls what holds a backward pass."""
    if not isinstance(kept.written, ast.ListComp):
        return False
    called = {bare_name(node) for node in all_nodes(kept.written.elt, ast.Call)}
    scopes = (scope for move in loop.of(Kind.BACKWARD) for scope in move.event.scopes())
    return any(scope.kind == "call" and getattr(scope.node, "name", "") in called for scope in scopes)


def _is_making(event: Event) -> bool:
    return bool(event.within) and event.within[-1].name == "__init__"


def _is_with_gradient(loop: TrainingLoop, kept: Kept, losses: list[Value]) -> bool:
    """Whether a kept value is made of a loss, or a loss of it, with no detach between."""
    sources = {
        id(value) for value in ancestry(loop.run, kept.value, cuts_gradient) if not cuts_gradient(value)
    }
    if any(id(loss) in sources for loss in losses):
        return not without_gradients(kept.event)
    inside = {id(one): one for one in (kept.value, *_held(kept.value))}
    parts = _with_gradient_in(loop, losses)
    return any(has_graph(loop.trace, inside[one]) for one in parts if one in inside)


@remembered
def _with_gradient_in(loop: TrainingLoop, losses: list[Value]) -> dict[int, Value]:
    """What losses are made of as far as gradients reach, by identity."""
    return {id(value): value for loss in losses for value in ancestry(loop.run, loss, cuts_gradient)}


@remembered
def _made_into(loop: TrainingLoop, losses: list[Value]) -> dict[int, Value]:
    """All that losses are made of, by identity."""
    return {id(value): value for loss in losses for value in ancestry(loop.run, loss)}


def _held(value: Value) -> Iterator[Value]:
    """What a dictionary, list or tuple of losses has in it."""
    match value:
        case Table(entries=entries, rest=rest):
            yield from (*entries.values(), *rest)
        case Items(items=items):
            yield from items


def _is_minimised(loop: TrainingLoop, kept: Kept, losses: list[Value]) -> bool:
    """Whether what the value is added to is part of a loss."""
    node = kept.event.site.node
    if any(f"{kept.name}.backward" in move.event.site.text for move in loop.of(Kind.BACKWARD)):
        return True
    made = _made_into(loop, losses)
    is_part = any(isinstance(value, Applied) and value.site.node is node for value in made.values())
    return is_part or id(kept.container) in made


def _in_evaluation(trace: Trace) -> Iterator[Kept]:
    """What validation loops keep, in functions that are named so and do not train."""
    rounds: dict[Scope, list[Event]] = {}
    for event in trace.events:
        inside = next((scope for scope in event.scopes() if scope.kind == "loop"), None)
        if inside is not None and _is_evaluation(event.within):
            rounds.setdefault(inside, []).append(event)
    for events in rounds.values():
        for kept in kept_values(events):
            if not without_gradients(kept.event) and _is_kept_loss(trace, kept):
                yield kept


def _is_evaluation(within: tuple[Function, ...]) -> bool:
    parts = set(words(within[-1].name)) if within else set()
    return bool(parts & EVALUATION) and "train" not in parts


def _is_kept_loss(trace: Trace, kept: Kept) -> bool:
    names = (kept.name.replace(".", "_"), *names_in(kept.written))
    spoken = {word for name in names for word in words(name)}
    if not spoken & {"loss", "losses"}:
        return False
    switched = any(getattr(event, "name", "") == "set_grad_enabled" for event in trace.events)
    return not switched and has_graph(trace, kept.value)
