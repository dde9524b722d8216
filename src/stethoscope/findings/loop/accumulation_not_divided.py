"""Gradients of several batches are added up, and the loss is not divided by their number.

## What it checks
Training loops that gather gradients on purpose: an update every N batches (`if (i + 1) % N == 0`), or a loop
over N micro-batches inside a step. Whether the loss, or the gradients afterwards, are divided by anything,
and the loss is not multiplied by N in its place. The `compute_loss` of a Trainer of transformers with a
causal model, which is handed `num_items_in_batch`, takes a mean and does not ask for it.

## Why it matters
N losses that are each a mean add up to N times the mean. SGD then steps N times too far; with Adam the size
cancels out, but clipping by norm cuts N times harder, and weight decay and epsilon weigh less.

## When it is harmless
A loss divided by N, or by the tokens of the whole window; gradients divided before the step; engines that
divide by themselves (Accelerate, DeepSpeed, Lightning's automatic optimization). Several *different* losses
whose gradients are meant to add up, such as those of the tasks of one batch.

## References
- torch.nn: the reduction of losses is a mean by default
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.edits.statements import is_name_chain
from stethoscope.program.index import index
from stethoscope.program.loop.accumulation import Accumulation, accumulation
from stethoscope.program.loop.meeting_places import places_of
from stethoscope.program.loop.undivided_by_trainers import undivided_by_trainers
from stethoscope.program.loop.window_average import is_divided, multiplied_by
from stethoscope.program.walk.trainers_made import trainers_made
from stethoscope.program.walk.values import span_of
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP109", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loops: TrainingLoops | None, sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each window of batches whose gradients are summed."""
    recipe = settings.recipe if settings is not None else None
    if loops is None and not trainers_made(index(sources.program)):
        raise InsufficientData("no training was found in the source")
    for one in undivided_by_trainers(index(sources.program), recipe):
        yield Finding(
            (one.loss.where, one.told.where),
            f"the gradients of {one.window:g} batches are added up: this Trainer leaves the division to a"
            " loss that is given num_items_in_batch, and this one does not ask for it",
            evidence={"loss": one.loss.text, "window": one.window},
        )
    for loop in loops or ():
        window = accumulation(loop)
        if window is None or is_divided(loop, window):
            continue
        site = window.backward.event.site
        count = ast.unparse(window.count) if window.count is not None else "several"
        multiplied = multiplied_by(loop, window)
        splices = _fix(window) if multiplied is None else ()
        so = f"nothing divides the loss by {count}"
        if multiplied is not None:
            so = f"the loss is multiplied by {count} where it should be divided: `{multiplied.text}`"
        yield Finding(
            where=places_of(loop.trace, window.backward.event, window.update.event),
            message=f"the gradients of {count} batches are added up, and {so}",
            evidence={"backward": site.text, "step": window.update.event.site.text},
            fix=Fix("divide the loss by the number of batches", Level.UNSAFE, splices) if splices else None,
        )


def _fix(window: Accumulation) -> tuple[Splice, ...]:
    """`loss.backward()` becomes `(loss / n).backward()`, inside the scaler where there is one."""
    call, count = window.backward.event.site.node, window.count
    if count is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ()
    loss = call.args[0] if window.backward.by_engine and call.args else call.func.value
    inside = False
    if isinstance(loss, ast.Call) and isinstance(loss.func, ast.Attribute) and loss.args:
        inside = loss.func.attr == "scale"
        loss = loss.args[0] if inside else loss
    if not (is_name_chain(count) or isinstance(count, ast.Constant)) or not is_name_chain(loss):
        return ()
    source = window.backward.event.site.source
    span = span_of(source, loss)
    if span is None:
        return ()
    text = f"{ast.unparse(loss)} / {ast.unparse(count)}"
    bare = inside or window.backward.by_engine
    return (Splice(source.file, *span, text if bare else f"({text})"),)
