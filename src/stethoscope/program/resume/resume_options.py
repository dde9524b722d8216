"""The options by which a run is told to go on from a checkpoint, and whether they reach one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import Walk, names_in
from stethoscope.program.index import Function, index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import full_name
from stethoscope.program.resume.checkpointing import COUNTER_WORDS, RESUME_WORDS, first_backward, is_loaded
from stethoscope.program.resume.uncalled_functions import is_out_of_reach, is_uncalled
from stethoscope.program.settings.declared_options import declared_options
from stethoscope.program.settings.mentions import Spot, taken_by_name
from stethoscope.program.settings.option import Option
from stethoscope.program.settings.setting_uses import SettingUses, Use, setting_uses
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Assignment, Call
from stethoscope.program.walk.values import Applied, Part, Value
from stethoscope.run import Program, Setting, Where

PRINTING = frozenset(
    {"print", "info", "debug", "warning", "log", "write", "format", "error", "pprint", "str"}
)
CHECKPOINTS = frozenset(
    {"ckpt", "checkpoint", "ckpt_path", "checkpoint_path", "load_checkpoint", "load_ckpt"}
)

_LOADS = re.compile(
    r"load\w*\(|_load\b|restore\w*\(|resume\w*\(|from_pretrained\(|from_checkpoint\(|read_checkpoint\(|unpickle"
)
# Frameworks that load by themselves what they are told of.
_TRAINS_ITSELF = re.compile(r"\.fit\(|\.train\([^)\n]|ckpt_path|resume_from|load_path|Trainer\(|\.learn\(")


@dataclass(frozen=True, slots=True)
class IdleOption:
    """An option for resuming that nothing acts on, and the places that only mention it.

    `is_out_of_reach` says that they would act on it, in functions that nothing calls.
    """

    option: Option
    mentions: tuple[Where, ...]
    is_out_of_reach: bool = False


def is_for_resuming(name: str) -> bool:
    """Whether an option's name asks for a run to go on."""
    parts = set(words(name.replace("-", "_")))
    if parts & {"optimizer", "every", "interval", "freq", "dir", "name", "id", "wandb"}:
        return False
    return bool(parts & {"resume", "resuming", "restore"}) or name.replace("-", "_") in CHECKPOINTS


def idle_options(program: Program, settings: Sequence[Setting] = ()) -> Iterator[IdleOption]:
    """The flags and fields for resuming that reach nothing but print-outs, checks and what is never called.

    `settings` are those in the run's files, some of which no option declares.
    """
    declared = {option.name for option in declared_options(index(program))}
    lines = [one for one in settings if one.leaf not in declared and is_for_resuming(one.leaf)]
    if not lines and not any(map(is_for_resuming, declared)):
        return  # following the settings of a large program takes seconds
    names = frozenset(part for one in settings for part in one.key if isinstance(part, str))
    uses = setting_uses(program, names)
    if uses is None:
        return
    seen: set[str] = set()
    for option in (*uses.options, *map(_line, lines)):
        is_asked = option.kind in {"flag", "field", "line"} and is_for_resuming(option.name)
        if option.name in seen or not is_asked:
            continue
        seen.add(option.name)
        is_line = option.kind == "line"
        if is_line and not (uses.reads_files and uses.takes(option.name)):
            continue
        usage = uses.of(option.name, option.sections) if is_line else uses.of_option(option)
        if usage.use is Use.UNUSED:
            yield IdleOption(option, usage.mentions)
        elif usage.use is Use.USED and (away := _out_of_reach(option, uses)):
            yield IdleOption(option, away, True)
        elif usage.use is Use.USED and _says_so(option.name) and not _loads_anything(program):
            yield IdleOption(option, (usage.where,) if usage.where is not None else ())


def _says_so(name: str) -> bool:
    """Whether a name can mean nothing but a resume: what is called `ckpt` may be where to save."""
    return bool({"resume", "resuming", "restore"} & set(words(name.replace("-", "_"))))


def _loads_anything(program: Program) -> bool:
    """Whether the source speaks of loading, restoring or resuming anywhere but in the option's own name."""
    return any(_LOADS.search(source.text) or _TRAINS_ITSELF.search(source.text) for source in program)


def _line(setting: Setting) -> Option:
    """A line of a settings file as an option."""
    sections = tuple(part for part in setting.key[:-1] if isinstance(part, str))
    return Option(setting.leaf, setting.where, "line", setting.value, sections)


def _out_of_reach(option: Option, uses: SettingUses) -> tuple[Where, ...]:
    """The places that read an option, where all of them are in functions that nothing calls."""
    code = uses.code
    spots = [spot for spot in taken_by_name(option.name, code) if not isinstance(_context(spot), ast.Store)]
    if not spots or not all(is_out_of_reach(spot, code) for spot in spots):
        return ()
    if any(is_uncalled(one, code.index) for one in code.index.functions if _is_declared_in(option, one)):
        return ()  # who calls the function that asks for it is not here to be seen
    return tuple(spot.where for spot in spots)


def _is_declared_in(option: Option, function: Function) -> bool:
    line, last = option.where.line or 0, function.node.end_lineno or 0
    return option.where.file == function.source.file and function.node.lineno <= line <= last


def _context(spot: Spot) -> object:
    return getattr(spot.node, "ctx", None)


def dropped_loads(walk: Walk) -> Iterator[Call]:
    """Checkpoints that are read for a resume before training and of which nothing is put back."""
    begins = first_backward(walk)
    for place, event in enumerate(walk.trace.events[: max(begins, 0)]):
        if not isinstance(event, Call) or full_name(event) != "torch.load" or not _says_resume(event):
            continue
        known: dict[int, bool] = {}
        if not any(_takes(walk, other, event, known) for other in walk.trace.events[place:]):
            yield event


def _says_resume(call: Call) -> bool:
    nodes = [call.site.node, *(scope.node for scope in call.scopes() if scope.kind == "if")]
    names = (name.replace("-", "_").strip("_") for node in nodes for name in names_in(node))
    return any(RESUME_WORDS & set(words(name)) for name in names if len(name) < 60)


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
        found = ancestry(walk.trace.run, value, _is_count)
        known[id(value)] = any(
            is_loaded(v) and isinstance(v, Applied) and v.site.node is load.site.node for v in found
        )
    return known[id(value)]


def _is_count(value: Value) -> bool:
    """A count out of a checkpoint: with nothing else of it, the run only believes that it goes on."""
    return (
        isinstance(value, Part)
        and isinstance(value.key, str)
        and bool((COUNTER_WORDS | {"best"}) & set(words(value.key)))
    )
