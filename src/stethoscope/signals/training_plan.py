"""The training as it was asked for and as it takes place, quantity by quantity.

What was asked for comes from the settings, what is in effect from the log, else from the source, else it
is derived; what neither tells is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stethoscope.program.index import index
from stethoscope.program.loop.roles import OPTIMIZER_CLASSES
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.settings.training_amounts import (
    NONE,
    TAKEN,
    CodedAmount,
    CodedTraining,
    coded_trainings,
)
from stethoscope.recipe.parser_defaults import options_of, replaced_in, unsaid
from stethoscope.recipe.quantities import Amount, Asked, asked_for, quantities
from stethoscope.recipe.quantities import precision as precisions
from stethoscope.run import Recipe, Run, Series, Setting, Where
from stethoscope.signals import ending, epochs, learning_rate, loss_scale
from stethoscope.signals.missing import Missing

FEWEST_POINTS = 3  # of a series before its cadence or its highest value says something

ADAPTIVE = re.compile(
    r"ada[mgdfb]|adan|lion|rmsprop|lamb|sophia|muon|yogi|prodigy|novograd|soap", re.IGNORECASE
)
_CALLED = re.compile(r"\b([A-Z]\w+)\(")
LOG, CODE, DERIVED = "log", "code", "derived"
BY_LOG = "by the log"


TRIAL = 50  # steps: nobody trains a network in fewer


@dataclass(frozen=True, slots=True)
class InEffect:
    """An amount that takes place: how it is known ("log", "code" or "derived"), where, and from what."""

    amount: Amount
    how: str
    where: tuple[Where, ...] = ()
    said: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One quantity: every setting that asks for it, and what is in effect."""

    quantity: str
    asked: tuple[Asked, ...] = ()
    in_effect: tuple[InEffect, ...] = ()

    def numbers(self, unit: str | None = None) -> dict[float, Asked]:
        """The different numbers asked for, each with the first setting that does, in one unit or in any."""
        found: dict[float, Asked] = {}
        for one in self.asked:
            number = one.amount.number
            if number is not None and (unit is None or one.amount.unit == unit):
                found.setdefault(number, one)
        return found

    @property
    def differs(self) -> tuple[Asked, InEffect] | None:
        """What was asked for and what the source does instead, where both are known for certain."""
        asked = self.only()
        coded = [one for one in self.in_effect if one.how == CODE]
        if asked is None or asked.amount.part or len({one.amount.value for one in coded}) != 1:
            return None
        units = {asked.amount.unit, coded[0].amount.unit} - {""}
        if len(units) > 1:
            return None
        wanted, taken = asked.amount.number or 0.0, coded[0].amount.number
        if taken is None:
            is_missing = coded[0].amount.value == NONE and wanted > 0
            return (asked, coded[0]) if is_missing else None
        slack = 1.0 if "step" in units else 0.0  # rounds are counted from zero or from one
        is_other = abs(wanted - taken) > max(slack, 1e-6 * max(abs(wanted), abs(taken)))
        return (asked, coded[0]) if is_other else None

    def only(self, unit: str | None = None) -> Asked | None:
        """The setting that asks for the quantity, where all that do agree."""
        found = self.numbers(unit)
        return next(iter(found.values())) if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class Extent:
    """How long the run is meant to be: `steps` are batches, `why` says what they are computed from."""

    steps: float | None = None
    epochs: float | None = None
    why: str = ""
    where: tuple[Where, ...] = ()

    @property
    def is_trial(self) -> bool:
        """Whether the run is so short that it only tries the code out: what is laid out for more stays."""
        return self.steps is not None and self.steps < TRIAL


@dataclass(frozen=True, slots=True, eq=False)
class TrainingPlan:
    """Every quantity of the training, and how long the training is.

    `window` is the number of batches of an update, None where it is not known, and `window_is_coded` says
    that the loop was seen to have it. `schedule_per_update` says that the schedule counts updates. `batches`
    are those of all epochs, None where their number is not known. `made` are the kinds of optimizers that the
    source makes anywhere.
    """

    entries: Mapping[str, Entry]
    extent: Extent
    window: float | None
    window_is_coded: bool
    schedule_per_update: bool
    trainings: tuple[CodedTraining, ...] = ()
    batches: float | None = None
    made: frozenset[str] = frozenset()

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def __getitem__(self, quantity: str) -> Entry:
        return self.entries[quantity]

    @property
    def precision(self) -> str:
        """The precision that the settings ask for together, "" where they do not say."""
        return precisions.joined(self["precision"].asked)

    @property
    def processes(self) -> float | None:
        """How many processes train, 1 where nothing speaks of several; None where the settings disagree."""
        return _processes(self["processes"])

    @property
    def is_adaptive(self) -> bool | None:
        """Whether the optimizer divides by the size of gradients, as Adam does; None where it is unknown."""
        entry = self["optimizer"]
        kinds = [str(one.amount.value) for one in entry.asked]
        kinds += [str(one.amount.value) for one in entry.in_effect]
        found = {ADAPTIVE.search(kind) is not None for kind in kinds or self.made}
        return found.pop() if len(found) == 1 else None

    @property
    def unmet_accumulation(self) -> Asked | None:
        """The setting that asks for gathered gradients where every batch was seen to be an update."""
        asked = self["accumulation"].only()
        if asked is None or (asked.amount.number or 1.0) <= 1.0:
            return None
        return asked if self.window_is_coded and self.window == 1.0 else None

    @property
    def updates(self) -> float | None:
        """How many updates the run makes, as far as its length is known.

        Where a round gathers its batches in a loop of its own, what is counted are updates already, but for a
        length that comes from the batches of an epoch.
        """
        if self.extent.steps is None:
            return None
        loops = [one.loop for one in self.trainings if one.gathers]
        is_by_round = bool(loops) and all(loop.micro is not None for loop in loops)
        counts_updates = is_by_round and "an epoch has" not in self.extent.why
        return self.extent.steps if counts_updates else self.extent.steps / (self.window or 1.0)

    @property
    def schedule_extent(self) -> tuple[float, str] | None:
        """The length of the run as a schedule counts it, and what it counts: updates, or steps.

        What a log calls a step is as often an update as a batch, so an epoch that it tells of is not divided.
        """
        if self.extent.steps is None:
            return None
        is_of_batches = "an epoch has" in self.extent.why and BY_LOG not in self.extent.why
        gathers = self.window is not None and self.window > 1 and is_of_batches
        if self.window is not None and gathers and self.schedule_per_update:
            return self.extent.steps / self.window, "updates"
        return self.extent.steps, "steps"


def measure(run: Run) -> TrainingPlan | Missing:
    """Join what the settings ask for with what the log and the source tell."""
    recipe = _with_defaults(run)
    trainings = _trainings(run)
    if not recipe.settings and not recipe.defaults and not trainings:
        return Missing(
            "no settings and no training loop were found with the run",
            log_this="copy the settings file into the run's folder, or name it by --config",
        )
    asked = asked_for(recipe)
    handed = _handed(recipe, trainings)
    entries = {
        one.name: Entry(one.name, asked.get(one.name) or handed.get(one.name, ())) for one in quantities()
    }
    replaced = asked_for(Recipe(_replaced_constants(run, recipe)))
    window, is_coded = _window(entries, trainings, replaced["accumulation"])
    extent = _extent(run, entries, trainings)
    told = [
        *_logged(run),
        *_coded(trainings, entries, replaced),
        *_gathered(trainings, window, is_coded),
        *_derived(entries, window, is_coded, extent),
    ]
    joined = {
        name: Entry(name, entry.asked, tuple(one for quantity, one in told if quantity == name))
        for name, entry in entries.items()
    }
    per_update = bool(trainings) and all(one.schedule_per_update for one in trainings)
    return TrainingPlan(
        joined, extent, window, is_coded, per_update, trainings, _batches(run, entries), _made(run)
    )


def _with_defaults(run: Run) -> Recipe:
    recipe = run.recipe or Recipe()
    if recipe.defaults or run.program is None:
        return recipe
    free = unsaid(options_of(run.program), recipe.settings)
    defaults = tuple(setting for setting in free if setting.value is not None)
    return Recipe(recipe.settings, recipe.files, recipe.shadowed, defaults)


def _replaced_constants(run: Run, recipe: Recipe) -> tuple[Setting, ...]:
    """The constants of scripts that settings are read over: the source has numbers that do not count."""
    files = replaced_in(run.program) if run.program is not None else frozenset()
    return tuple(setting for setting in recipe.shadowed if setting.where.file in files)


def _trainings(run: Run) -> tuple[CodedTraining, ...]:
    if run.program is None or not run.program.sources or not run.is_followed:
        return ()
    return coded_trainings(index(run.program), settings_tree(run.recipe))


def _handed(recipe: Recipe, trainings: Iterable[CodedTraining]) -> dict[str, tuple[Asked, ...]]:
    """What settings of any name ask for, by what the source does with them: `DataLoader(..., cfg["n"])`."""
    found: dict[str, dict[str, Asked]] = {}
    for one in (amount for training in trainings for amount in training.amounts if not amount.part):
        setting = _setting_behind(one, recipe)
        if setting is not None:
            amount = Amount(setting.value, one.unit)
            asked = Asked(amount, setting, setting.dotted, setting in recipe.defaults)
            found.setdefault(one.quantity, {}).setdefault(setting.dotted, asked)
    return {quantity: tuple(of.values()) for quantity, of in found.items()}


def _setting_behind(one: CodedAmount, recipe: Recipe) -> Setting | None:
    """The setting that a number of the source is, by its key; a flag's by its name, where only one has it."""
    given = {setting.dotted: setting for setting in (*recipe.defaults, *recipe.settings)}
    if one.value != TAKEN:
        setting = given.get(one.setting)
        return setting if setting is not None and setting.known and setting.value == one.value else None
    named = [s for s in given.values() if s.leaf == one.setting and s.known]
    is_number = len(named) == 1 and isinstance(named[0].value, int | float)
    return named[0] if is_number and not isinstance(named[0].value, bool) else None


def _made(run: Run) -> frozenset[str]:
    """The kinds of optimizers that the source makes, whether or not a loop was seen to use them."""
    called = (name for source in run.program or () for name in _CALLED.findall(source.text))
    return frozenset(name for name in called if name in OPTIMIZER_CLASSES)


def _window(
    entries: Mapping[str, Entry], trainings: Sequence[CodedTraining], replaced: Sequence[Asked]
) -> tuple[float | None, bool]:
    coded = {one.window for one in trainings}
    if len(coded) == 1 and (only := coded.pop()) is not None and not _is_replaced(only, replaced):
        return only, True
    asked = entries["accumulation"].only()
    gathers = bool(trainings) and all(one.gathers for one in trainings)
    return (asked.amount.number, gathers) if asked is not None else (None, False)


# --- how long the run is


def _extent(run: Run, entries: Mapping[str, Entry], trainings: Iterable[CodedTraining]) -> Extent:
    length = entries["length of the run"]
    steps, passes = length.only("step"), length.only("epoch")
    per_epoch, said = _steps_per_epoch(run, entries)
    limits: list[tuple[float, str, tuple[Where, ...]]] = []
    if steps is not None:
        number = steps.amount.number or 0.0
        limits.append((number, f"{steps.name} is {number:,.0f}", (steps.setting.where,)))
    if passes is not None and per_epoch is not None and not _is_overridden(passes, steps):
        number = (passes.amount.number or 0.0) * per_epoch
        why = f"{passes.name} is {passes.amount.number:,g}, and an epoch has {per_epoch:,.0f} steps ({said})"
        limits.append((number, why, (passes.setting.where,)))
    seen = run.steps[1] if run.steps is not None and _counts_steps(run) else 0
    if not limits and seen and ending.measure(run).how == ending.FINISHED:
        limits.append((float(seen), f"the run ended at step {seen:,}", ()))
    planned = passes.amount.number if passes is not None and not _is_overridden(passes, steps) else None
    if not limits and planned is None:
        limits += _counted(trainings)
    if not limits:
        return Extent(None, planned, "", (passes.setting.where,) if passes is not None else ())
    least = min(limits, key=lambda limit: limit[0])
    if seen > least[0] * 1.02:  # a step more than was planned is counting, many more are another plan
        return Extent(None, planned)
    return Extent(least[0], planned, least[1], least[2])


def _counted(trainings: Iterable[CodedTraining]) -> Iterator[tuple[float, str, tuple[Where, ...]]]:
    """The rounds that stand in the header of the one loop that trains."""
    amounts = [one for training in trainings for one in training.amounts]
    lengths = [one for one in amounts if one.quantity == "length of the run"]
    only = lengths[0] if len(lengths) == 1 else None
    if only is not None and only.unit == "step" and isinstance(only.value, int):
        yield float(only.value), f"the loop makes {only.value:,} rounds", (only.where,)


def _batches(run: Run, entries: Mapping[str, Entry]) -> float | None:
    passes, per_epoch = entries["length of the run"].only("epoch"), _steps_per_epoch(run, entries)[0]
    if passes is None or per_epoch is None:
        return None
    return (passes.amount.number or 0.0) * per_epoch


def _is_overridden(passes: Asked, steps: Asked | None) -> bool:
    """Transformers counts epochs only where no number of steps is given."""
    names = {passes.setting.leaf, steps.setting.leaf if steps is not None else ""}
    return names == {"num_train_epochs", "max_steps"} or (steps is not None and passes.is_default)


def _counts_steps(run: Run) -> bool:
    return any(len(series) and series.axis == "step" for series in run.series.values())


def _steps_per_epoch(run: Run, entries: Mapping[str, Entry]) -> tuple[float | None, str]:
    given = entries["length of an epoch"].only()
    if given is not None:
        return given.amount.number, given.name
    size, batch = entries["training samples"].only(), entries["batch per device"].only()
    processes = _processes(entries["processes"])
    if size is not None and batch is not None and processes is not None:
        taken = (batch.amount.number or 1.0) * processes
        each = float(np.ceil((size.amount.number or 0.0) / taken))
        return each, f"{size.name} by {taken:,.0f} samples a step"
    logged = epochs.measure(run) if _counts_steps(run) else None
    if isinstance(logged, epochs.Epochs) and logged.steps_per_epoch > 1:
        return logged.steps_per_epoch, BY_LOG
    return None, ""


def _processes(entry: Entry) -> float | None:
    """The number of processes, 1 where nothing speaks of several; None where the settings disagree."""
    parts: dict[str, set[float]] = {}
    for one in entry.asked:
        if one.amount.number is not None:
            parts.setdefault(one.amount.part, set()).add(one.amount.number)
    if any(len(values) > 1 for values in parts.values()):
        return None
    if "" in parts:
        return parts[""].pop()
    return float(np.prod([values.pop() for values in parts.values()])) if parts else 1.0


# --- what the log tells


def _logged(run: Run) -> Iterator[tuple[str, InEffect]]:
    rate = learning_rate.measure(run)
    if not isinstance(rate, Missing):
        main = rate.main.finite()
        if len(main):
            at = int(main.steps[int(np.argmax(main.values))])
            peak = Amount(float(main.values.max()))
            yield "learning rate", InEffect(peak, LOG, (main.where(at),), "the highest that was logged")
    scale = loss_scale.measure(run)
    if not isinstance(scale, Missing):
        values = scale.series.finite().values
        if len(values):
            said = "moves" if values.max() > values.min() else "stays"
            last = Amount(float(values[-1]), part="scale")
            yield "loss scaling", InEffect(last, LOG, (scale.series.where(),), f"the scale {said}")
    if run.steps is not None and _counts_steps(run):
        yield "length of the run", InEffect(Amount(run.steps[1], "step"), LOG, (), "the last step logged")
    passes = run.series.get("epoch")
    if passes is not None and len(passes.finite()):
        last = Amount(float(passes.finite().values[-1]), "epoch")
        yield "length of the run", InEffect(last, LOG, (passes.where(),), "the last epoch logged")
    yield from _cadences(run)


def _cadences(run: Run) -> Iterator[tuple[str, InEffect]]:
    measured = [s for name, s in run.series.items() if name.startswith("val/") and len(s) >= FEWEST_POINTS]
    if measured:
        longest: Series = max(measured, key=len)
        amount = Amount(longest.cadence(), longest.axis)
        yield "evaluation every", InEffect(amount, LOG, (longest.where(),))
    steps = sorted({one.step for one in run.checkpoints if one.step is not None})
    if len(steps) > 1:
        between = Amount(int(np.median(np.diff(steps))), "step")
        yield "checkpoint every", InEffect(between, LOG, (), "the checkpoints there are")


# --- what the source tells, and what follows from the rest


def _coded(
    trainings: Iterable[CodedTraining], entries: Mapping[str, Entry], replaced: Mapping[str, Sequence[Asked]]
) -> Iterator[tuple[str, InEffect]]:
    seen: set[tuple[str, str, str]] = set()
    for one in (amount for training in trainings for amount in training.amounts):
        value = _value(one, entries[one.quantity])
        key = (one.quantity, str(value), one.part)
        if (
            value is None
            or key in seen
            or (value is one.value and _is_replaced(value, replaced[one.quantity]))
        ):
            continue
        seen.add(key)
        yield one.quantity, InEffect(Amount(value, one.unit, one.part), CODE, (one.where,))


def _gathered(
    trainings: Sequence[CodedTraining], window: float | None, is_coded: bool
) -> Iterator[tuple[str, InEffect]]:
    """The window of a loop that gathers; that every batch is an update, the source itself tells."""
    if window is not None and window > 1 and is_coded:
        updates = [move for one in trainings for move in one.loop.moves if move.updates]
        where = tuple(move.event.site.where for move in updates[:1])
        yield "accumulation", InEffect(Amount(int(window)), CODE, where)


def _value(one: CodedAmount, entry: Entry) -> object:
    """The value in the source; where it is a flag's, what the settings give the flag, None for nothing."""
    if one.value != TAKEN:
        return one.value
    return next((asked.amount.number for asked in entry.asked if asked.setting.leaf == one.setting), None)


def _is_replaced(value: object, replaced: Iterable[Asked]) -> bool:
    """Whether a value of the source is one that the settings replace: a constant that a file is read over."""
    return any(value == one.amount.value for one in replaced)


def _derived(
    entries: Mapping[str, Entry], window: float | None, is_coded: bool, extent: Extent
) -> Iterator[tuple[str, InEffect]]:
    batch, processes = entries["batch per device"].only(), _processes(entries["processes"])
    # A stated total and no stated number of processes: the number is what the total makes it.
    is_open = bool(entries["effective batch"].asked) and not entries["processes"].asked
    if batch is not None and processes is not None and not is_open:
        each = batch.amount.number or 1.0
        parts = [f"batch {each:,.0f}"]
        if window is not None:
            parts.append(f"accumulation {window:,.0f}{' (as the loop has it)' if is_coded else ''}")
        parts.append(f"processes {processes:,.0f}{'' if entries['processes'].asked else ' (none are named)'}")
        total = Amount(int(each * (window or 1.0) * processes), "sample")
        yield "effective batch", InEffect(total, DERIVED, (batch.setting.where,), " x ".join(parts))
    if extent.steps is not None and extent.why.count("an epoch has"):
        length = Amount(round(extent.steps), "step")
        yield "length of the run", InEffect(length, DERIVED, extent.where, extent.why)
