"""A scaled loss is followed by a step that knows nothing of the scale.

## What it checks
On every path: the loss was scaled before `backward()`, and the optimizer then steps by itself, while
`scaler.step(optimizer)` is called for it nowhere in the loop: with gradients that are still scaled, or that
`scaler.unscale_` unscaled and nothing leaves out the step where they overflowed.

## Why it matters
The gradients are tens of thousands of times too large. SGD takes steps that much too long; Adam hides it
until weight decay, epsilon and clipping stop meaning anything. Overflowed gradients are not skipped: the
first one makes the weights NaN.

## When it is harmless
Gradients unscaled with `unscale_`, and a step under the condition that they are finite. A scaler that is
switched off. A loop in which the scaler steps on the path for mixed precision, and the optimizer on the
other.

## References
- torch.amp.GradScaler
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import blocks_around, is_name_chain, put_after
from stethoscope.program.loop.loop_order import (
    go_together,
    is_switched_off,
    questions,
    scaled_by,
    sets_gradients,
    surely_same,
)
from stethoscope.program.loop.moves import Kind, Move, same_object
from stethoscope.program.loop.training_loop import Path, TrainingLoop
from stethoscope.program.walk.events import Call
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP105", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


FINITE = ("isfinite", "isnan", "isinf", "inf", "nan", "finite")


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each step that uses gradients of a scaled loss as they are."""
    for loop in loops:
        scalings = [call for call in scaled_by(loop) if not is_switched_off(call.receiver)]
        if not scalings or sets_gradients(loop):
            continue
        for backward, step in dict.fromkeys(_bypassing(loop)):
            splices = _fix(loop, scalings, step)
            yield Finding(
                where=(step.event.site.where, backward.event.site.where),
                message=f"{step.event.site.text} updates with the gradients of a scaled loss: "
                f"{_says(loop, step)}",
                evidence={"backward": backward.event.site.text},
                proof="all gradients that reach the step are of the scaled loss, and the scaler never steps",
                fix=Fix("let the scaler make the step", Level.SAFE, splices) if splices else None,
            )


def _bypassing(loop: TrainingLoop) -> Iterator[tuple[Move, Move]]:
    for path in loop.paths:
        for step in path.of(Kind.STEP):
            fed_by = _fed_by(path, step)
            if step.by_engine or not fed_by or not all(move.scaled and not move.by_engine for move in fed_by):
                continue
            if _is_handled(loop, step) or not go_together(loop, step, fed_by[-1]):
                continue
            yield fed_by[-1], step


def _fed_by(path: Path, step: Move) -> list[Move]:
    """The backward passes since the last update."""
    found: list[Move] = []
    for move in reversed(path.moves[: path.moves.index(step)]):
        if move.updates and same_object(move.subject, step.subject):
            break
        if move.kind is Kind.BACKWARD:
            found.insert(0, move)
    return found


def _is_handled(loop: TrainingLoop, step: Move) -> bool:
    """Whether the scaler steps this optimizer elsewhere, or the loop itself leaves out what overflowed."""
    by_scaler = loop.of(Kind.SCALER_STEP)
    if any(surely_same(move.subject, step.subject) or move.subject is None for move in by_scaler):
        return True
    asked = " ".join(question for question, _ in questions(loop, step.event))
    return _is_unscaled(loop, step) and any(word in asked for word in FINITE)


def _is_unscaled(loop: TrainingLoop, step: Move) -> bool:
    unscaled = loop.of(Kind.UNSCALE)
    return any(same_object(move.subject, step.subject) for move in unscaled)


def _says(loop: TrainingLoop, step: Move) -> str:
    if _is_unscaled(loop, step):
        return "where they overflowed, nothing leaves the step out"
    return "the scaler neither unscales them nor steps"


def _fix(loop: TrainingLoop, scalings: list[Call], step: Move) -> tuple[Splice, ...]:
    site, node = step.event.site, step.event.site.node
    near = next((call for call in scalings if call.within == step.event.within), None)
    if near is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ()
    scaling = near.site.node
    scaler = (
        scaling.func.value
        if isinstance(scaling, ast.Call) and isinstance(scaling.func, ast.Attribute)
        else None
    )
    if scaler is None or not is_name_chain(scaler) or not is_name_chain(node.func.value) or node.args:
        return ()
    span = site.span
    if span is None:
        return ()
    name = ast.unparse(scaler)
    through = Splice(site.source.file, *span, f"{name}.step({ast.unparse(node.func.value)})")
    if loop.of(Kind.SCALER_UPDATE):
        return (through,)
    block, position = blocks_around(site.source, node)[0]
    return (through, put_after(site.source, block[position], f"{name}.update()"))
