"""What a training loop minimises, and the optimizers that are there for it."""

from __future__ import annotations

from stethoscope.program.loop.framework_optimizers import trainer_optimizers
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.parameter_owners import Holder, holder_of, holders
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.values import Value


def known_holders(loop: TrainingLoop) -> list[Holder]:
    """All optimizers of the walk, where each is known and those that the loop steps are among them; of a
    trainer's hook, those of the trainer."""
    if loop.hook is not None and not loop.trace.by_hand:
        return list(trainer_optimizers(loop.trace))
    updates = [move for move in loop.moves if move.updates]
    if not updates or not all(holder_of(loop.trace, move.subject) for move in updates):
        return []
    found = list(holders(loop.trace))
    return found if all(holder.is_known for holder in found) else []


def losses_of(loop: TrainingLoop) -> list[Value | None]:
    """What is minimised: by the loop, or by the framework that calls a hook."""
    found = [backward.subject for backward in loop.of(Kind.BACKWARD)]
    return found or ([loop.trace.loss] if loop.trace.loss is not None else [])
