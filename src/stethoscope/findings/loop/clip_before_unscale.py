"""Gradients are clipped while they are still multiplied by the loss scale.

## What it checks
On every path: a backward pass of a scaled loss (`scaler.scale(loss).backward()`), then clipping, with no
`scaler.unscale_(optimizer)` between the two, then `scaler.step(optimizer)`. With Accelerate: a clip by torch
where the Accelerator was made for fp16 and nothing unscaled.

## Why it matters
The scale is tens of thousands. Measured against it every norm is too large, so every gradient is cut to
max_norm / scale: the clip turns into a division of the learning rate that changes whenever the scale does.

## When it is harmless
`unscale_` before the clip, also in a function that is called. A limit that is multiplied by the scale itself.
A scaler that is switched off. A clip with an infinite limit, which only measures. Engines that unscale inside
their own clipping (Accelerate, Fabric, timm's scaler).

## References
- torch.amp: Gradient clipping, in the automatic mixed precision examples
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import blocks_around, is_name_chain, moved, put_before
from stethoscope.program.loop.loop_order import go_together, is_switched_off, last_before, only_measures
from stethoscope.program.loop.meeting_places import places_of
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import Path, TrainingLoop
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Applied, Choice, Constant
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP103", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)

HALF = ("fp16", "16-mixed", "16", 16)  # under which Accelerate and Fabric scale the loss


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each clip of gradients that are still scaled."""
    for loop in loops:
        for backward, clip, step in dict.fromkeys(_scaled_clips(loop)):
            splices = _fix(loop, clip, step)
            yield Finding(
                where=places_of(loop.trace, clip.event, backward.event),
                message=f"{_called(clip)} measures gradients that are still multiplied by the loss scale: "
                "nothing unscales them first",
                evidence={"backward": backward.event.site.text, "step": step.event.site.text},
                proof="on every path from the scaled backward pass to the clip, nothing unscales",
                fix=Fix("unscale the gradients before they are clipped", Level.SAFE, splices)
                if splices
                else None,
            )


def _called(move: Move) -> str:
    return move.event.name if isinstance(move.event, Call) else move.event.site.text


def _scaled_clips(loop: TrainingLoop) -> Iterator[tuple[Move, Move, Move]]:
    for path in loop.paths:
        for clip in path.of(Kind.CLIP):
            backward = last_before(path, clip, Kind.BACKWARD)
            step = _step_after(path, clip)
            if backward is None or step is None or clip.by_engine or only_measures(clip):
                continue
            if not _is_scaled(backward, step) or _is_unscaled_between(loop, backward, clip):
                continue
            if "scale" in _limit(clip) or not go_together(loop, clip, backward):
                continue
            if go_together(loop, clip, step):
                yield backward, clip, step


def _step_after(path: Path, clip: Move) -> Move | None:
    later = path.moves[path.moves.index(clip) + 1 :]
    found = next((move for move in later if move.kind is Kind.BACKWARD or move.updates), None)
    return found if found is not None and found.updates else None


def _is_scaled(backward: Move, step: Move) -> bool:
    if backward.by_engine:
        engine = backward.event.receiver if isinstance(backward.event, Call) else None
        told = engine.keywords if isinstance(engine, Applied) else {}
        precision = told.get("mixed_precision") or told.get("precision")
        asked = precision.options if isinstance(precision, Choice) else (precision,)
        return any(isinstance(one, Constant) and one.value in HALF for one in asked)
    scaler = step.event.receiver if isinstance(step.event, Call) else None
    return backward.scaled and step.kind is Kind.SCALER_STEP and not is_switched_off(scaler)


def _is_unscaled_between(loop: TrainingLoop, backward: Move, clip: Move) -> bool:
    """Whether any path unscales between the two: under which switch is the author's business."""
    start, end = loop.moves.index(backward), loop.moves.index(clip)
    return any(move.kind is Kind.UNSCALE for move in loop.moves[start:end])


def _limit(clip: Move) -> str:
    node = clip.event.site.node
    if not isinstance(node, ast.Call):
        return ""
    given = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    return " ".join(ast.unparse(argument) for argument in given)


def _fix(loop: TrainingLoop, clip: Move, step: Move) -> tuple[Splice, ...]:
    source, node = clip.event.site.source, clip.event.site.node
    if clip.event.within != step.event.within or step.event.site.source is not source:
        return ()
    late = next((m for m in loop.of(Kind.UNSCALE) if m.event.within == clip.event.within), None)
    if late is not None:
        return moved(source, late.event.site.node, node, after=False)
    call = step.event.site.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
        return ()
    scaler, optimizer = call.func.value, call.args[0]
    if not is_name_chain(scaler) or not is_name_chain(optimizer) or step.kind is not Kind.SCALER_STEP:
        return ()
    block, position = blocks_around(source, node)[0]
    return (put_before(source, block[position], f"{ast.unparse(scaler)}.unscale_({ast.unparse(optimizer)})"),)
