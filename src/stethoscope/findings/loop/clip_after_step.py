"""Gradients are clipped after the step that used them.

## What it checks
On every path: a backward pass, the optimizer's step, and only then the clip, with no further step that could
still use the clipped gradients.

## Why it matters
The update was made with the gradients as they were. The clip changes buffers that are cleared next, so the
setting does nothing and one bad batch can still throw the weights away.

## When it is harmless
A clip with an infinite limit after the step only measures the norm. Clamping *weights* after the step, as in
Wasserstein training, is another thing. In the training of two networks the clip may belong to the second.

## References
- torch.nn.utils.clip_grad_norm_
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import moved
from stethoscope.program.loop.loop_order import go_together, last_before, only_measures
from stethoscope.program.loop.meeting_places import places_of
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import Path, TrainingLoop
from stethoscope.program.walk.events import Call
from stethoscope.run import Fix, Level
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP104", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each clip that comes too late."""
    for loop in loops:
        for step, clip in dict.fromkeys(_late_clips(loop)):
            site = clip.event.site
            same = site.source is step.event.site.source
            splices = moved(site.source, site.node, step.event.site.node, after=False) if same else ()
            name = clip.event.name if isinstance(clip.event, Call) else site.text
            yield Finding(
                where=places_of(loop.trace, clip.event, step.event),
                message=f"{name} comes after {step.event.site.text}: the update was already made with the "
                "gradients as they were",
                evidence={"step": step.event.site.text, "line of step": step.event.line},
                proof="no step follows the clip before the next backward pass",
                fix=Fix("clip before the step", Level.SAFE, splices) if splices else None,
            )


def _late_clips(loop: TrainingLoop) -> Iterator[tuple[Move, Move]]:
    for path in loop.paths:
        for clip in path.of(Kind.CLIP):
            step = last_before(path, clip, Kind.BACKWARD, Kind.STEP, Kind.SCALER_STEP)
            if step is None or not step.updates or step.event is clip.event or only_measures(clip):
                continue
            if last_before(path, step, Kind.BACKWARD) is None or _is_used(path, clip):
                continue
            if go_together(loop, clip, step):
                yield step, clip


def _is_used(path: Path, clip: Move) -> bool:
    """Whether a step follows on the path that still uses the gradients."""
    later = path.moves[path.moves.index(clip) + 1 :]
    following = next((move for move in later if move.kind is Kind.BACKWARD or move.updates), None)
    return following is not None and following.updates
