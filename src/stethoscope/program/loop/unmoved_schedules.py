"""Schedules of the learning rate that are made beside a training loop and that nothing ever moves.

All that might move one counts: every `.step()` of the repository that is not known to be an optimizer's, and
every call that gets the schedule and was not followed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import External, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.roles import OPTIMIZER_WORDS, Role, role_of
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.events import Assignment, Call
from stethoscope.program.walk.values import ClassValue, FunctionValue, Instance

HOME = "torch.optim.lr_scheduler."
OF_TRANSFORMERS = (
    "get_scheduler",
    "get_cosine",
    "get_linear",
    "get_constant",
    "get_polynomial",
    "get_inverse",
)
# What has another `step`, by its name.
OTHERS = OPTIMIZER_WORDS | {"opt", "scaler", "profiler", "prof", "env", "envs", "sgd", "adam", "adamw"}
MOVING = ("step", "step_update", "step_epoch", "step_batch")
LOOKING = frozenset(
    {"print", "isinstance", "len", "state_dict", "load_state_dict", "append", "prepare", "type"}
)


def unmoved_schedules(loop: TrainingLoop) -> Iterator[Call]:
    """The calls that make a schedule which no round of the loop, nor anything else, moves."""
    if not (loop.is_whole and loop.trace.complete) or not any(move.updates for move in loop.moves):
        return
    moves = (*loop.before, *loop.moves, *loop.after)
    if any(move.kind is Kind.SCHEDULER_STEP or (move.updates and move.by_engine) for move in moves):
        return
    updates = {move.event.site.node for move in moves if move.updates}
    if any(call not in updates for call in _may_move(loop.run.index)):
        return
    if _is_handed_on(loop) or _is_set_by_hand(loop):
        return
    told: set[ast.AST] = set()
    for event in loop.trace.events:
        if isinstance(event, Call) and event.site.node not in told and _makes_schedule(loop, event):
            told.add(event.site.node)
            yield event


def _makes_schedule(loop: TrainingLoop, call: Call) -> bool:
    name = _outside(loop, call)
    last = name.rpartition(".")[2]
    if name.startswith(HOME):
        return last[:1].isupper() and last not in {"SequentialLR", "ChainedScheduler", "ConstantLR"}
    return name.startswith("transformers.") and last.startswith(OF_TRANSFORMERS)


def _outside(loop: TrainingLoop, call: Call) -> str:
    """The full name of what a call calls, where that is of a library."""
    node = call.site.node
    written = dotted(node.func) if isinstance(node, ast.Call) else None
    index = loop.run.index
    target = index.resolve(index.module_of(call.site.source), written) if written else None
    return target.name if isinstance(target, External) else ""


@remembered
def _may_move(index: Index) -> tuple[ast.Call, ...]:
    """Whatever is stepped in the repository and may be a schedule by its name."""
    return tuple(
        call
        for module in index.modules.values()
        if not is_test(module.source)
        for call in all_nodes(module.source.tree, ast.Call)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in MOVING
        and not _is_other(call.func.value)
    )


def _is_other(owner: ast.expr) -> bool:
    """Whether what is stepped has another part by its name: `optimizer`, `self.opt_g`, `scaler`."""
    name = (dotted(owner) or "").rpartition(".")[2]
    return bool(OTHERS.intersection(words(name))) and not {"sched", "scheduler", "lr"} & set(words(name))


def _is_handed_on(loop: TrainingLoop) -> bool:
    """Whether a schedule is given to something that was not followed."""
    for event in loop.trace.events:
        if not isinstance(event, Call) or event.name in LOOKING or _outside(loop, event).startswith("torch."):
            continue
        if isinstance(event.callee, FunctionValue | ClassValue | Instance):
            continue  # it was followed
        given = (*event.args, *event.keywords.values())
        if any(role_of(loop.run, value) is Role.SCHEDULER for value in given):
            return True
    return False


def _is_set_by_hand(loop: TrainingLoop) -> bool:
    """Whether the loop writes rates by itself, whatever else it makes."""
    return any(
        isinstance(event, Assignment)
        and isinstance(event.target, ast.Subscript)
        and isinstance(event.target.slice, ast.Constant)
        and event.target.slice.value == "lr"
        for event in loop.trace.events
    )
