"""The numbers that a training loop really works with: of its optimizer, clip, schedule and window."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.training_data import TrainingLoader, training_loaders
from stethoscope.program.index import Index
from stethoscope.program.loop.accumulation import accumulation, cleared_every_batch
from stethoscope.program.loop.loop_order import questions
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.roles import OPTIMIZER_CLASSES
from stethoscope.program.loop.schedules import CHAINS, schedules
from stethoscope.program.loop.training_loop import TrainingLoop, training_loops
from stethoscope.program.precision.autocast import HALVES, DType
from stethoscope.program.precision.loop_precision import LoopPrecision, loop_precisions
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.amounts_in_calls import amounts_in_calls, warm_ups_by_hand
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.call_arguments import SPREAD
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.values import Applied, Choice, Constant, Items, Part, Settings, Table, Value
from stethoscope.run import Where

# The arguments of optimizers by position behind the parameters; the rest is always named.
_POSITIONS = {"lr": 1}
TAKEN = "as asked"  # of what is read from a parser, under the name of the setting
_PARSED = frozenset({".parse_args", ".parse_known_args", ".parse_intermixed_args"})
BY_HAND = "set by hand"  # of a rate that the loop writes into the optimizer itself
NONE = "none"  # of something that a loop, seen whole, does not do
_WITHOUT_DECAY = frozenset(
    f"torch.optim.{name}" for name in ("SGD", "Adam", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adamax")
)
_HALF_NAMES = {DType.FLOAT16: "fp16", DType.BFLOAT16: "bf16"}


@dataclass(frozen=True, slots=True, eq=False)
class CodedAmount:
    """A value that the source itself gives: `quantity` and `part` as the settings name them, and where.

    `setting` is the key of the setting that the value comes from, "" where it stands in the source. Where a
    parser gives the value, it is TAKEN: as the setting has it.
    """

    quantity: str
    value: object
    where: Where
    part: str = ""
    setting: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CodedTraining:
    """What the source says of one training loop.

    `window` is the number of batches of one update: 1 where every batch is an update, None where it cannot
    be told; `gathers` says that there is a window, of whatever length. `schedule_per_update` says that the
    schedule moves once an update and not with every batch.
    """

    loop: TrainingLoop
    amounts: tuple[CodedAmount, ...]
    window: float | None
    gathers: bool
    schedule_per_update: bool


@remembered
def coded_trainings(index: Index, settings: SettingsTree) -> tuple[CodedTraining, ...]:
    """The numbers of every training loop of a program that was seen to update weights."""
    precisions = {id(one.loop): one for one in loop_precisions(index, settings)}
    loaders = training_loaders(index, settings)
    return tuple(
        _training(loop, precisions.get(id(loop)), [one for one in loaders if one.loop is loop])
        for loop in training_loops(index, settings)
        if any(move.updates for move in loop.moves)
    )


def _training(
    loop: TrainingLoop, precision: LoopPrecision | None, loaders: Sequence[TrainingLoader]
) -> CodedTraining:
    found = [*_optimizers(loop), *_clips(loop), *_schedules(loop), *_batches(loop, loaders)]
    found += _told_by_calls(loop, found)
    if precision is not None:
        found += _precision(precision)
    window = _window(loop)
    if window == 1.0 and loop.body is not None:
        update = next(move for move in loop.moves if move.updates)
        found.append(CodedAmount("accumulation", 1, update.event.site.where))
    gathers = accumulation(loop) is not None
    return CodedTraining(loop, tuple(found), window, gathers, _moves_with_updates(loop))


def _optimizers(loop: TrainingLoop) -> Iterator[CodedAmount]:
    seen: set[int] = set()
    for move in loop.moves:
        for made in optimizers_made(loop, move.subject) if move.updates else ():
            if id(made) in seen:
                continue
            seen.add(id(made))
            kind = made.callee.rpartition(".")[2]
            yield CodedAmount("optimizer", kind, made.site.where)
            for name, quantity in (("lr", "learning rate"), ("weight_decay", "weight decay")):
                value = _strongest(loop, made, name) or made.keywords.get(name) or _positional(made, name)
                known = constant_of(loop, value)
                if known is not None and isinstance(known.value, int | float):
                    yield CodedAmount(quantity, known.value, made.site.where, setting=known.setting)
                elif taken := _taken(loop, value):
                    yield CodedAmount(quantity, TAKEN, made.site.where, setting=taken)
            if _takes_no_decay(made):
                yield CodedAmount("weight decay", NONE, made.site.where)
            betas = _numbers(loop, made.keywords.get("betas"))
            if betas:
                yield CodedAmount("betas", betas, made.site.where, "betas")


def _strongest(loop: TrainingLoop, made: Applied, name: str) -> Value | None:
    """What the groups of an optimizer are told themselves, where each is: the largest, which acts on most."""
    groups = quietly(loop.run, made.args[0] if made.args else made.keywords.get("params", made))
    rows = [quietly(loop.run, one) for one in groups.items] if isinstance(groups, Items) else []
    told = [row.entries.get(name) if isinstance(row, Table) else None for row in rows]
    known = {id(value): constant_of(loop, value) for value in told}
    numbers = [
        (float(one.value), value)
        for value in told
        if (one := known[id(value)]) is not None and isinstance(one.value, int | float)
    ]
    return max(numbers, key=lambda pair: pair[0])[1] if numbers and len(numbers) == len(told) else None


def _takes_no_decay(made: Applied) -> bool:
    """Whether an optimizer that decays nothing by itself gets all weights at once, and no decay."""
    written = getattr(made.site.node, "args", None) or [None]
    is_plain = isinstance(written[0], ast.Call) and getattr(written[0].func, "attr", "") == "parameters"
    untold = not {"weight_decay", SPREAD} & made.keywords.keys() and len(made.args) <= 2
    return is_plain and untold and made.callee in _WITHOUT_DECAY


def optimizers_made(loop: TrainingLoop, value: Value | None) -> Iterator[Applied]:
    """The optimizers of outside packages that a value may be."""
    value = quietly(loop.run, value) if value is not None else None
    if isinstance(value, Choice):
        for option in value.options:
            yield from optimizers_made(loop, option)
    elif isinstance(value, Items):
        for item in value.items:
            yield from optimizers_made(loop, item)
    elif isinstance(value, Table):
        for item in value.entries.values():
            yield from optimizers_made(loop, item)
    elif isinstance(value, Applied) and value.callee.rpartition(".")[2] in OPTIMIZER_CLASSES:
        yield value


def _positional(made: Applied, name: str) -> Value | None:
    position = _POSITIONS.get(name)
    return made.args[position] if position is not None and position < len(made.args) else None


def constant_of(loop: TrainingLoop, value: Value | None) -> Constant | None:
    """The number or text that a value is, as far as the walk knows it; None where it does not."""
    value = quietly(loop.run, value) if value is not None else None
    known = isinstance(value, Constant) and not isinstance(value.value, bool)
    return value if known and isinstance(value, Constant) else None


def _taken(loop: TrainingLoop, value: Value | None) -> str:
    """The name of the flag that a value is, as in `args.lr`; "" where it is none."""
    value = quietly(loop.run, value) if value is not None else None
    if not isinstance(value, Part) or not isinstance(value.key, str):
        return ""
    base = value.base
    return value.key if isinstance(base, Applied) and base.callee in _PARSED else ""


def _numbers(loop: TrainingLoop, value: Value | None) -> tuple[float, ...]:
    value = quietly(loop.run, value) if value is not None else None
    if isinstance(value, Settings) and isinstance(value.tree, list):
        return tuple(float(item) for item in value.tree if isinstance(item, int | float))
    if not isinstance(value, Items):
        return ()
    known = [constant_of(loop, item) for item in value.items]
    numbers = [one.value for one in known if one is not None and isinstance(one.value, int | float)]
    return tuple(float(number) for number in numbers) if len(numbers) == len(value.items) else ()


def _clips(loop: TrainingLoop) -> Iterator[CodedAmount]:
    update = next(move for move in loop.moves if move.updates)
    if loop.is_whole and not loop.of(Kind.CLIP) and not any(move.by_engine for move in loop.moves):
        yield CodedAmount("gradient clip", NONE, update.event.site.where)
    for move in loop.of(Kind.CLIP):
        event = move.event
        if not isinstance(event, Call) or event.name not in {"clip_grad_norm_", "clip_grad_norm"}:
            continue
        limit = event.argument(1, "max_norm")
        known = constant_of(loop, limit)
        if known is not None and isinstance(known.value, int | float):
            yield CodedAmount("gradient clip", known.value, event.site.where, setting=known.setting)
        elif taken := _taken(loop, limit):
            yield CodedAmount("gradient clip", TAKEN, event.site.where, setting=taken)


def _schedules(loop: TrainingLoop) -> Iterator[CodedAmount]:
    seen: set[int] = set()
    for move in (*loop.moves, *loop.after):
        if move.kind is not Kind.SCHEDULER_STEP:
            continue
        for schedule in schedules(loop.run, move.subject):
            if id(schedule.made) not in seen and schedule.kind not in CHAINS:
                seen.add(id(schedule.made))
                yield CodedAmount("schedule", schedule.kind, schedule.site.where)
    by_hand = next(filter(_sets_rate, loop.run.events), None)
    if not seen and isinstance(by_hand, Assignment):
        yield CodedAmount("schedule", BY_HAND, by_hand.site.where)
    elif not seen and loop.is_whole and not _may_move_schedules(loop):
        update = next(move for move in loop.moves if move.updates)
        yield CodedAmount("schedule", NONE, update.event.site.where)


def _may_move_schedules(loop: TrainingLoop) -> bool:
    """Whether something moves a schedule, of whatever kind, or an engine may."""
    moves = (*loop.before, *loop.moves, *loop.after)
    return any(move.kind is Kind.SCHEDULER_STEP or move.by_engine for move in moves)


def _sets_rate(event: Event) -> bool:
    """`group["lr"] = rate(step)`, and `group["lr"] *= 0.1`, in whichever round."""
    target = event.target if isinstance(event, Assignment) else None
    return (
        any(scope.kind == "loop" for scope in event.scopes())
        and isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == "lr"
    )


def _batches(loop: TrainingLoop, loaders: Iterable[TrainingLoader]) -> Iterator[CodedAmount]:
    """How many samples each loader gives at once."""
    for loader in loaders:
        size = loader.options.get("batch_size")
        known = constant_of(loop, size)
        if known is not None and isinstance(known.value, int):
            yield CodedAmount("batch per device", known.value, loader.site.where, setting=known.setting)
        elif taken := _taken(loop, size):
            yield CodedAmount("batch per device", TAKEN, loader.site.where, setting=taken)


def _told_by_calls(loop: TrainingLoop, found: Sequence[CodedAmount]) -> Iterator[CodedAmount]:
    """What the program's own loops and calls are given, where no library was seen to be told it."""
    known = {one.quantity for one in found}
    for one in amounts_in_calls(loop):
        number = constant_of(loop, one.value) if one.quantity not in known else None
        if number is not None and one.quantity == "batch per device" and not number.setting:
            continue  # one place that is drawn may be a crop or a level of noise
        if number is not None and isinstance(number.value, int | float):
            yield CodedAmount(
                one.quantity, number.value, one.site.where, setting=number.setting, unit=one.unit
            )
        elif one.quantity not in known and (taken := _taken(loop, one.value)):
            yield CodedAmount(one.quantity, TAKEN, one.site.where, setting=taken, unit=one.unit)
    for rounds, site in warm_ups_by_hand(loop):
        yield CodedAmount("warm-up", rounds, site.where, unit="step")


def _precision(precision: LoopPrecision) -> Iterator[CodedAmount]:
    for region in precision.regions:
        halves = region.autocast.dtypes & HALVES
        if region.autocast.enabled and region.autocast.known and len(halves) == 1:
            yield CodedAmount("precision", _HALF_NAMES[next(iter(halves))], region.site.where)


def _window(loop: TrainingLoop) -> float | None:
    gathered = accumulation(loop)
    if gathered is not None:
        known = constant_of(loop, gathered.value)
        return float(known.value) if known is not None and isinstance(known.value, int | float) else None
    return 1.0 if _updates_every_batch(loop) else None


def _updates_every_batch(loop: TrainingLoop) -> bool:
    """Whether each backward pass is followed by an update under no further condition, gradients cleared."""
    if not loop.is_whole or loop.micro is not None or cleared_every_batch(loop) is not None:
        return False
    backwards, updates = loop.of(Kind.BACKWARD), [move for move in loop.moves if move.updates]
    if len(backwards) != 1 or any(move.by_engine for move in (*backwards, *updates)):
        return False
    asked = questions(loop, backwards[0].event)
    return any(questions(loop, move.event) <= asked for move in updates)


def _moves_with_updates(loop: TrainingLoop) -> bool:
    """Whether the schedule is moved under the very condition that the update is made under."""
    gathered = accumulation(loop)
    if gathered is None:
        return False
    asked = questions(loop, gathered.update.event)
    steps = loop.of(Kind.SCHEDULER_STEP)
    in_micro = loop.micro is not None and any(loop.micro in move.event.scopes() for move in steps)
    return bool(steps) and not in_micro and all(questions(loop, move.event) >= asked for move in steps)
