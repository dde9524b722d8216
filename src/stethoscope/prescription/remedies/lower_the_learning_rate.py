"""Lower the learning rate."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import RankedCause
from stethoscope.prescription.edits.setting_edit import with_new, with_value
from stethoscope.prescription.remedy import ClinicTrial, Remedy
from stethoscope.program.index import index
from stethoscope.program.settings.defaulted_reads import DefaultedRead, defaulted_reads
from stethoscope.program.settings.mentions import mentions
from stethoscope.recipe.quantities import asked_for
from stethoscope.run import Level, Recipe, Run, Setting, Splice
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.learning_rate import measure as logged_rate
from stethoscope.signals.missing import Missing
from stethoscope.signals.training_plan import TrainingPlan
from stethoscope.signals.training_plan import measure as training_plan

REMEDY = Remedy(
    cures=("learning-rate-too-high",),
    level=Level.UNSAFE,
    proof=ClinicTrial(
        "too-fast", "third-of-the-rate", "necessary and sufficient", "+0.932 of saying the mean"
    ),
)

FILES = frozenset({"yaml", "toml", "json"})  # in which a key can be added
SHARE = 3.0  # what the trial divides the rate by
DIGITS = 3  # of the rate that is written
AT_ITS_PEAK = 0.2  # how far the highest logged rate may be from the setting: logs round, and miss the peak


def splices(cause: RankedCause, run: Run) -> Iterator[Splice]:
    """A third of the rate, where one setting gives it and the log shows that the run had it.

    A setting that is lower than what was logged has been lowered since.
    """
    plan, logged = training_plan(run), logged_rate(run)
    if isinstance(plan, Missing) or isinstance(logged, Missing):
        return
    asked = plan["learning rate"].only()
    if not plan["learning rate"].asked:
        yield from _added(logged, run)
    if asked is None or asked.amount.part or plan["learning rate"].differs is not None:
        return
    rate = asked.amount.number or 0.0
    if not _was_had(rate, logged) or _is_several(plan):
        return
    splice = with_value(asked.setting, float(f"{rate / SHARE:.{DIGITS}g}"), run)
    if splice is not None:
        yield splice


def _added(logged: LearningRate, run: Run) -> Iterator[Splice]:
    """The same where the rate is a default of the source, which reads it from the one settings file."""
    reads = [read for read in _reads(run) if _is_rate(read)]
    files = [one for one in run.recipe.files if one.syntax in FILES] if run.recipe else []
    if len(reads) != 1 or len(files) != 1:
        return
    rate = float(str(reads[0].default))
    if _was_had(rate, logged):
        splice = with_new(reads[0].key, float(f"{rate / SHARE:.{DIGITS}g}"), files[0].file, run)
        if splice is not None:
            yield splice


def _reads(run: Run) -> tuple[DefaultedRead, ...]:
    if run.program is None or not run.is_followed:
        return ()
    return defaulted_reads(mentions(index(run.program)))


def _is_rate(read: DefaultedRead) -> bool:
    if not isinstance(read.default, int | float) or isinstance(read.default, bool):
        return False
    return bool(asked_for(Recipe((Setting(read.key, read.default, read.where),)))["learning rate"])


def _was_had(rate: float, logged: LearningRate) -> bool:
    peak = float(logged.main.finite().values.max())
    return abs(peak - rate) <= AT_ITS_PEAK * rate


def _is_several(plan: TrainingPlan) -> bool:
    """Whether several settings give a rate, of which a third of one would change the balance."""
    return len({one.setting.dotted for one in plan["learning rate"].asked if not one.is_default}) > 1


def advice(cause: RankedCause, run: Run) -> Iterator[str]:
    """What to try, in order."""
    yield "resume from before the onset with a third of the learning rate, then a tenth if it happens again"


def expect(cause: RankedCause, run: Run) -> Iterator[str]:
    """What the next run will show."""
    if cause.onset is not None:
        yield f"the loss passes step {cause.onset:,} without rising"
