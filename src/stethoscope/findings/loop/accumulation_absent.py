"""Gradient accumulation is asked for, and every batch is an update of its own.

## What it checks
Five forms. A loss that is divided by a number of batches (`gradient_accumulation_steps`, `accum_iter`) in a
loop that updates after every batch. Gradients that are cleared with every batch although the step waits for
several, so only the last batch counts. An Accelerator that is asked to gather and not told how many. An
Accelerator that is told how many, in a loop without `accumulate`. An option for accumulation by which the
length of the schedule is divided, and which no loop asks about. A setting that reaches no loop at all is what
batch-smaller-than-asked and setting-never-used report.

## Why it matters
The batch is smaller than the one that was asked for, by the very factor: gradients are noisier, batch and
learning rate no longer fit each other, and where the loss is divided all the same the step is too short as
well.

## When it is harmless
A setting that reaches the engine that accumulates (Accelerator, TrainingArguments, Trainer, DeepSpeed). A
setting of 1. Clearing once per window.

## References
- accelerate: Performing gradient accumulation
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import blocks_around, cut, put_after
from stethoscope.program.loop.accumulation import accumulates_one, cleared_every_batch, divided_without_window
from stethoscope.program.loop.announced_accumulation import announced_only, stepped_with_every_batch
from stethoscope.program.loop.moves import Move
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.loop.unentered_accumulation import never_entered
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP110", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each accumulation that does not take place."""
    for loop in loops:
        cleared = cleared_every_batch(loop)
        if cleared is not None:
            zero, step = cleared
            site = zero.event.site
            splices = _cleared_after(zero, step)
            yield Finding(
                where=(site.where, step.event.site.where),
                message=f"{site.text} clears the gradients with every batch, and {step.event.site.text} "
                "waits for several: only the last of them counts",
                evidence={"step": step.event.site.text},
                proof="the gradients are cleared in every round, and used in some",
                fix=Fix("clear the gradients after the step", Level.SAFE, splices)
                if splices and site.source is step.event.site.source
                else None,
            )
        idle = accumulates_one(loop)
        if idle is not None:
            entered, made, asked = idle
            yield Finding(
                where=(made.where, entered.where),
                message=f"{entered.text} gathers nothing: {asked} is not given to the Accelerator",
                evidence={"setting": asked, "made": made.text},
            )
        divided = divided_without_window(loop)
        if divided is not None:
            backward, divisor = divided
            text = ast.unparse(divisor) if divisor is not None else "the number of batches"
            yield Finding(
                where=(backward.event.site.where,),
                message=f"the loss is divided by {text}, and every batch is an update of its own: the "
                "gradients are made smaller and never gathered",
                evidence={"divisor": text},
            )
        unentered = never_entered(loop)
        if unentered is not None:
            update, engine = unentered
            stepped = update.event.site
            yield Finding(
                where=(engine.site.where, stepped.where),
                message=f"{stepped.text} follows every batch: nothing enters accumulate(), so the "
                "Accelerator divides the loss and gathers nothing",
                evidence={"step": stepped.text, "made": engine.site.text},
            )
        if cleared is None and idle is None and divided is None and unentered is None:
            yield from _announced(loop)


def _announced(loop: TrainingLoop) -> Iterator[Finding]:
    """An option that other parts of the program count with, in a loop that does not know it."""
    update = stepped_with_every_batch(loop)
    asked = announced_only(loop.run.index) if update is not None else None
    if update is None or asked is None:
        return
    step = update.event.site
    body = [loop.body.source.where(loop.body.node)] if loop.body is not None else []
    yield Finding(
        where=(step.where, *body, asked.used, *([asked.declared] if asked.declared is not None else [])),
        message=f"{step.text} follows every batch: {asked.name} is counted with, and gathers nothing",
        evidence={"setting": asked.name, "step": step.text},
    )


def _cleared_after(zero: Move, step: Move) -> tuple[Splice, ...]:
    """The clearing taken from where it is and put behind the step."""
    source = zero.event.site.source
    if step.event.site.source is not source or zero.event.within != step.event.within:
        return ()
    block, position = blocks_around(source, zero.event.site.node)[0]
    taken = cut(source, block, position)
    target, place = blocks_around(source, step.event.site.node)[0]
    return (taken, put_after(source, target[place], zero.event.site.text)) if taken is not None else ()
