"""Gradients are clipped before there are any.

## What it checks
On a path through the loop: the clip, then a backward pass, then the optimizer's step, with no clip between
the last two and no backward pass whose gradients the clip could have met. Where networks take turns, each
turn is looked at by itself.

## Why it matters
The clip sees empty buffers, or those of the round before, and the gradients that the step uses are never
limited. The setting is there, the logged norm looks calm, and one bad batch still throws the weights away.

## When it is harmless
A loop that steps at the start of a round with the gradients of the last one clips them in time. So does one
with a second backward pass in front of the clip. A clip with an infinite limit only measures.

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

RULE = Rule(code="LOP410", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each clip that comes too early."""
    for loop in loops:
        for clip, backward in dict.fromkeys(_early_clips(loop)):
            name = clip.event.name if isinstance(clip.event, Call) else clip.event.site.text
            yield Finding(
                where=places_of(loop.trace, clip.event, backward.event),
                message=f"{name} comes before {backward.event.site.text}: the gradients that the step uses "
                "are not limited",
                evidence={"backward": backward.event.site.text, "line of backward": backward.event.line},
                proof="no clip stands between the backward pass and the step",
                fix=_fix(loop, clip, backward),
            )


def _early_clips(loop: TrainingLoop) -> Iterator[tuple[Move, Move]]:
    for path in loop.paths:
        if path.left is not None or not _spends_all(path):
            continue
        for clip in path.of(Kind.CLIP):
            backward = _next_backward(path, clip)
            if backward is None or only_measures(clip) or not _is_backward_alone(path, backward):
                continue
            if last_before(path, backward, Kind.CLIP) is not clip or not _goes_unlimited(path, clip):
                continue
            if not _has_gradients(path, clip) and go_together(loop, clip, backward):
                yield clip, backward


def _spends_all(path: Path) -> bool:
    """Whether the gradients of each backward pass are used in the same round, where there are several."""
    told = [move for move in path.moves if move.kind is Kind.BACKWARD or move.updates]
    backwards = [place for place, move in enumerate(told) if move.kind is Kind.BACKWARD]
    return len(backwards) == 1 or all(any(one.updates for one in told[place:]) for place in backwards)


def _next_backward(path: Path, clip: Move) -> Move | None:
    later = path.moves[path.moves.index(clip) + 1 :]
    found = next((move for move in later if move.kind is Kind.BACKWARD), None)
    return None if found is None or found.event is clip.event else found


def _is_backward_alone(path: Path, backward: Move) -> bool:
    """Whether a call computes gradients only: that of some engines clips and steps as well."""
    return not any(move.event is backward.event and move is not backward for move in path.moves)


def _has_gradients(path: Path, clip: Move) -> bool:
    """Whether a backward pass of the same round left gradients that no step has used yet."""
    earlier = path.moves[: path.moves.index(clip)]
    last = next((move for move in reversed(earlier) if move.kind is Kind.BACKWARD or move.updates), None)
    return last is not None and last.kind is Kind.BACKWARD


def _goes_unlimited(path: Path, clip: Move) -> bool:
    """Whether the backward pass and a step follow, in this order, with no clip between them."""
    later = path.moves[path.moves.index(clip) + 1 :]
    told = [move for move in later if move.kind in {Kind.BACKWARD, Kind.CLIP} or move.updates]
    return len(told) > 1 and told[0].kind is Kind.BACKWARD and told[1].updates


def _fix(loop: TrainingLoop, clip: Move, backward: Move) -> Fix | None:
    """The clip moved behind the backward pass, unless a scaler has to unscale in between."""
    site, other = clip.event.site, backward.event.site
    if site.source is not other.source or loop.of(Kind.SCALER_STEP) or backward.scaled:
        return None
    splices = moved(site.source, site.node, other.node, after=True)
    return Fix("clip after the backward pass", Level.SAFE, splices) if splices else None
