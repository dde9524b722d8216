"""The course of treatment: the ways to go on from here, each with its price and its proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.prescription import catalogue
from stethoscope.prescription.case import Case
from stethoscope.prescription.checkpoint import DECLINES, WRONG_FROM_THE_START
from stethoscope.prescription.cost import NOTHING, Cost, cost_between
from stethoscope.prescription.ladder import Rung, ladder
from stethoscope.prescription.remedy import CheckpointAdvice, Edit, Prescription
from stethoscope.prescription.resuming import Resume, resume_from
from stethoscope.run import Level, Where

QUICK, REPAIR, PROPER = "quick", "repair", "proper"
NO_CHECKPOINT = "no checkpoint is known to be better than the last one"
WRONG_THROUGHOUT = "every checkpoint was trained on the wrong thing from the first step"
NOTHING_TO_CHANGE = "nothing is prescribed that the next training could do otherwise"


@dataclass(frozen=True, slots=True)
class Option:
    """One way to go on. `why_not` says why it is none here; it is empty where it is one.

    `effect` is what to expect of it, `proof` what that rests on, and `where` what shows it.
    """

    name: str
    title: str
    cost: Cost
    effect: str = ""
    proof: tuple[str, ...] = ()
    where: tuple[Where, ...] = ()
    why_not: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it can be taken."""
        return not self.why_not


@dataclass(frozen=True, slots=True)
class Course:
    """The ways to go on, how to resume where that is one of them, and what to try if it persists."""

    options: tuple[Option, ...] = ()
    resume: Resume | None = None
    ladder: tuple[Rung, ...] = ()


def course(case: Case, prescription: Prescription) -> Course:
    """What a person can do with a prescription."""
    if not (prescription.edits or prescription.advice or prescription.checkpoint):
        return Course(ladder=ladder(case, (), catalogue()) if case.explanation.symptoms else ())
    treated = {cause for edit in prescription.edits for cause in edit.cures}
    treated |= {
        cause.name for cause in case.standing for one in catalogue() if cause.name in one.remedy.cures
    }
    resume = resume_from(prescription.checkpoint, case) if prescription.checkpoint else None
    options = (_quick(case, prescription), _repair(case, prescription), _proper(case, prescription))
    return Course(options, resume, ladder(case, treated, catalogue()))


def _quick(case: Case, prescription: Prescription) -> Option:
    title = "Use the best checkpoint as it is"
    advised = prescription.checkpoint
    if advised is None:
        return Option(QUICK, title, NOTHING, why_not=prescription.checkpoint_note or NO_CHECKPOINT)
    effect, where = _better_there(case, advised)
    return Option(QUICK, f"Use {advised.path} as it is", NOTHING, effect or advised.why, (), where)


def _better_there(case: Case, advised: CheckpointAdvice) -> tuple[str, tuple[Where, ...]]:
    """What the metric was at the checkpoint and at the end, where a decline in it is why to go back."""
    symptoms = {found.rule.name: found.finding for found in case.explanation.symptoms}
    decline = next((symptoms[rule] for rule in DECLINES if rule in symptoms), None)
    series = case.run.series.get(decline.places[0].series or "") if decline is not None else None
    if series is None or advised.step is None or not len(series.finite()):
        return "", ()
    seen = series.finite()
    near = int(np.abs(seen.steps - advised.step).argmin())
    at, last = int(seen.steps[near]), int(seen.steps[-1])
    then, now = float(seen.values[near]), float(seen.values[-1])
    said = f"{series.name} is {then:.4g} at step {at:,} and {now:.4g} at the end, step {last:,}"
    return said, (series.where(at), series.where(last))


def _repair(case: Case, prescription: Prescription) -> Option:
    title = "Resume from the checkpoint"
    advised = prescription.checkpoint
    wrong = next((case.cause(name) for name in WRONG_FROM_THE_START if case.cause(name)), None)
    if wrong is not None:
        return Option(REPAIR, title, NOTHING, why_not=f"{WRONG_THROUGHOUT}: {wrong.entry.cause.title}")
    if advised is None:
        return Option(REPAIR, title, NOTHING, why_not=prescription.checkpoint_note or NO_CHECKPOINT)
    if not (prescription.edits or prescription.advice):
        return Option(REPAIR, title, NOTHING, why_not=NOTHING_TO_CHANGE)
    cost = cost_between(case.run, advised.step, None)
    title = f"Resume from {advised.path} {_with_what(prescription)}"
    return Option(REPAIR, title, cost, *_expected(prescription))


def _proper(case: Case, prescription: Prescription) -> Option:
    title = f"Train again from the start {_with_what(prescription)}"
    if not (prescription.edits or prescription.advice):
        return Option(PROPER, title, NOTHING, why_not=NOTHING_TO_CHANGE)
    cost = cost_between(case.run, None, None)
    return Option(PROPER, title, cost, *_expected(prescription))


def _with_what(prescription: Prescription) -> str:
    return "with the changes" if prescription.edits else "as advised"


def _expected(prescription: Prescription) -> tuple[str, tuple[str, ...]]:
    """What the changed training should show, and what says so."""
    proofs = tuple(dict.fromkeys(_proof(edit) for edit in prescription.edits if _counts(edit)))
    return "; ".join(prescription.expect), proofs


def _counts(edit: Edit) -> bool:
    return edit.level is not Level.DISPLAY


def _proof(edit: Edit) -> str:
    return f"{edit.remedy}: {edit.proof}"
