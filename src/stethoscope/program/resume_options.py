"""The options by which a run is told to go on from a checkpoint, and whether they reach one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.ancestry import ancestry
from stethoscope.program.checkpointing import RESUME_WORDS, first_backward, is_loaded
from stethoscope.program.declared_options import declared_options
from stethoscope.program.evaluation import Walk, names_in
from stethoscope.program.events import Assignment, Call
from stethoscope.program.index import index
from stethoscope.program.likenesses import words
from stethoscope.program.moves import full_name
from stethoscope.program.option import Option
from stethoscope.program.setting_uses import Use, setting_uses
from stethoscope.program.values import Applied, Value
from stethoscope.run import Program, Where

PRINTING = frozenset(
    {"print", "info", "debug", "warning", "log", "write", "format", "error", "pprint", "str"}
)
CHECKPOINTS = frozenset(
    {"ckpt", "checkpoint", "ckpt_path", "checkpoint_path", "load_checkpoint", "load_ckpt"}
)


@dataclass(frozen=True, slots=True)
class IdleOption:
    """An option for resuming that nothing acts on, and the places that only mention it."""

    option: Option
    mentions: tuple[Where, ...]


def is_for_resuming(name: str) -> bool:
    """Whether an option's name asks for a run to go on."""
    parts = set(words(name.replace("-", "_")))
    if parts & {"optimizer", "every", "interval", "freq", "dir", "name", "id", "wandb"}:
        return False
    return bool(parts & {"resume", "resuming", "restore"}) or name.replace("-", "_") in CHECKPOINTS


def idle_options(program: Program, written: frozenset[str] = frozenset()) -> Iterator[IdleOption]:
    """The flags and fields for resuming that reach nothing but print-outs and checks.

    `written` are the names in the run's settings files.
    """
    if not any(is_for_resuming(option.name) for option in declared_options(index(program))):
        return  # following the settings of a large program takes seconds
    uses = setting_uses(program, written)
    if uses is None:
        return
    seen: set[str] = set()
    for option in uses.options:
        if option.name in seen or option.kind not in {"flag", "field"} or not is_for_resuming(option.name):
            continue
        seen.add(option.name)
        usage = uses.of_option(option)
        if usage.use is Use.UNUSED:
            yield IdleOption(option, usage.mentions)


def dropped_loads(walk: Walk) -> Iterator[Call]:
    """Checkpoints that are read for a resume before training and of which nothing is put back."""
    begins = first_backward(walk)
    for event in walk.trace.events[: max(begins, 0)]:
        if not isinstance(event, Call) or full_name(event) != "torch.load" or not _says_resume(event):
            continue
        known: dict[int, bool] = {}
        if not any(_takes(walk, other, event, known) for other in walk.trace.events):
            yield event


def _says_resume(call: Call) -> bool:
    nodes = [call.site.node, *(scope.node for scope in call.scopes() if scope.kind == "if")]
    return any(RESUME_WORDS & set(words(name)) for node in nodes for name in names_in(node) if len(name) < 60)


def _takes(walk: Walk, other: object, load: Call, known: dict[int, bool]) -> bool:
    """Whether an event does something with what was loaded; `known` is what was found of other values."""
    if isinstance(other, Call) and other is not load and other.name not in PRINTING:
        receiver = () if other.receiver is None else (other.receiver,)
        given = (*other.args, *other.keywords.values(), *receiver)
        return any(_comes_from(walk, value, load, known) for value in given)
    if isinstance(other, Assignment) and _comes_from(walk, other.value, load, known):
        return other.site.node is not load.site.node
    return False


def _comes_from(walk: Walk, value: Value, load: Call, known: dict[int, bool]) -> bool:
    if id(value) not in known:  # the walk keeps its values, so an identity stays its own
        found = ancestry(walk.trace.run, value)
        known[id(value)] = any(
            is_loaded(v) and isinstance(v, Applied) and v.site.node is load.site.node for v in found
        )
    return known[id(value)]
