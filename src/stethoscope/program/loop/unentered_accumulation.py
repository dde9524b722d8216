"""An Accelerator that is told to gather gradients, in a loop that never lets it.

`Accelerator(gradient_accumulation_steps=8)` divides each loss by eight; that several batches make one update
is left to `with accelerator.accumulate(model)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stethoscope.program.loop.loop_order import questions
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Applied, Choice, Constant, Value

# What lets the Accelerator gather. To ask it whether this round updates, `sync_gradients`, is not enough:
# where nothing gathers, it says yes each time.
GATHERING = frozenset({"accumulate", "no_sync", "gradient_state", "_do_sync"})
# One of the things that a condition asks together.
_SYNCS = re.compile(r"^(?:.* and )?[\w.]+\.sync_gradients(?: and .*)?$")
_SYNCS_ALONE = re.compile(r"^[\w.]+\.sync_gradients$")
STEPS = "gradient_accumulation_steps"


def never_entered(loop: TrainingLoop) -> tuple[Move, Applied] | None:
    """The update of every batch, and the Accelerator that was asked for fewer of them."""
    updates = [move for move in loop.moves if move.updates]
    backwards = loop.of(Kind.BACKWARD)
    if not loop.is_seen or loop.micro is not None or not updates or not backwards:
        return None
    engine = _engine(backwards[0])
    if engine is None or not _asks_for_several(engine):
        return None
    if GATHERING.intersection(_names(loop)):
        return None
    asked = questions(loop, backwards[0].event)
    update = next((move for move in updates if _answered(questions(loop, move.event)) <= asked), None)
    return (update, engine) if update is not None else None


def _answered(asked: frozenset[tuple[str, bool]]) -> frozenset[tuple[str, bool]]:
    """Questions without the one that has a single answer here."""
    return frozenset(one for one in asked if not (one[1] and _SYNCS_ALONE.match(one[0])))


def gathers_by_engine(loop: TrainingLoop) -> bool:
    """Whether an Accelerator makes one update of several batches in this loop."""
    backwards = loop.of(Kind.BACKWARD)
    engine = _engine(backwards[0]) if backwards else None
    return engine is not None and _asks_for_several(engine) and "accumulate" in _names(loop)


def waits_for_update(loop: TrainingLoop, move: Move) -> bool:
    """Whether something happens only in rounds in which the Accelerator lets the weights be updated."""
    asks = any(answer and _SYNCS.search(asked) for asked, answer in questions(loop, move.event))
    return asks or (move.kind is Kind.SCHEDULER_STEP and _waits_by_itself(loop))


def _waits_by_itself(loop: TrainingLoop) -> bool:
    """Whether a schedule was prepared together with its loader: it then moves with the updates alone.

    Its length was computed before, from a loader that was not yet shared out.
    """
    engine = next((made for one in loop.of(Kind.BACKWARD) if (made := _engine(one)) is not None), None)
    if engine is None or {"split_batches", "dataloader_config", "step_scheduler_with_optimizer"} & set(
        engine.keywords
    ):
        return False
    prepared = [one for one in loop.trace.events if isinstance(one, Call) and one.name == "prepare"]
    roles = {role_of(loop.run, value) for one in prepared for value in one.args}
    return len(prepared) == 1 and {Role.SCHEDULER, Role.LOADER} <= roles


def _engine(backward: Move) -> Applied | None:
    receiver: Value | None = backward.event.receiver if isinstance(backward.event, Call) else None
    options = receiver.options if isinstance(receiver, Choice) else (receiver,)
    made = [one for one in options if isinstance(one, Applied) and one.callee.endswith("Accelerator")]
    return made[0] if len(made) == 1 == len(options) else None


def _asks_for_several(engine: Applied) -> bool:
    if "deepspeed_plugin" in engine.keywords:  # DeepSpeed's engine counts by itself
        return False
    plugin = engine.keywords.get("gradient_accumulation_plugin")
    given = engine.keywords.get(STEPS)
    if isinstance(plugin, Applied):
        given = plugin.keywords.get("num_steps", plugin.args[0] if plugin.args else None)
    if given is None:
        return False
    return not isinstance(given, Constant) or (isinstance(given.value, int) and given.value > 1)


@remembered
def _names(loop: TrainingLoop) -> frozenset[str]:
    """The attributes that the files of a loop read."""
    sources = {id(event.site.source): event.site.source for event in loop.events}
    return frozenset(_attributes(source.tree for source in sources.values()))


def _attributes(trees: Iterator[ast.AST]) -> Iterator[str]:
    for tree in trees:
        for node in all_nodes(tree):
            if isinstance(node, ast.Attribute):
                yield node.attr
