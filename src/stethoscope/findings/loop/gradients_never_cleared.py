"""Gradients are never cleared, so every step adds up all batches since the start.

## What it checks
In each loop that updates weights, whether anything clears the gradients: `optimizer.zero_grad()`,
`model.zero_grad()`, `p.grad = None`, or a helper that does it. The loop is followed through the functions and
methods it calls, and through the conditions in it.

## Why it matters
`backward()` adds to what is already in `.grad`. Without clearing, each update repeats all earlier gradients:
the effective step grows without bound, the loss falls at first, then oscillates or diverges.

## When it is harmless
Clearing after the step, before the next batch, once per accumulation window, by hand, or inside an engine's
own step is all the same. A loop that never updates weights needs no clearing: gradients may be what it is
for. Frameworks that clear by themselves (Lightning's automatic optimization, the Hugging Face Trainer,
deepspeed) are left alone, and so is a loop whose optimizer is handed to something that could not be followed.

## References
- torch.optim.Optimizer.zero_grad
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.moves import Kind, Move
from stethoscope.program.training_loop import TrainingLoop
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP101", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each loop that updates weights and never clears their gradients."""
    for loop in loops:
        step = _first_update(loop)
        if step is None or not loop.is_whole or _is_cleared(loop):
            continue
        backward = loop.of(Kind.BACKWARD)[0]
        yield Finding(
            where=(step.event.site.where, backward.event.site.where),
            message="the weights are updated in a loop that never clears the gradients",
            evidence={"step": step.event.site.text, "backward": backward.event.site.text},
        )


def _first_update(loop: TrainingLoop) -> Move | None:
    return next((move for move in loop.moves if move.updates and not move.by_engine), None)


def _is_cleared(loop: TrainingLoop) -> bool:
    return bool(loop.of(Kind.ZERO_GRAD)) or any(move.by_engine and move.updates for move in loop.moves)
