"""What to try next if it persists: the explanations that are left, the likeliest for its price first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stethoscope.causes import Means, Question, RankedCause, Standing, speaks_against
from stethoscope.prescription.case import Case
from stethoscope.prescription.cost import NOTHING, Cost, cost_between
from stethoscope.prescription.remedy import RemedyEntry
from stethoscope.run import Where

MOST_RUNGS = 6
BEYOND_ONSET = 1.1  # how far past the onset a run must go to show that the trouble does not come back
# What a test is taken to cost where its words do not say, as shares of the run.
SHARE_OF_A_LOOK, SHARE_OF_A_FEW_STEPS = 0.01, 0.05
_TRAINS = re.compile(
    r"^(?:go on|train|start again|resume|run (?!one\b|five\b|the first\b|the same\b)|shuffle and|freeze)\b"
    r"|^(?:fix|set) the\b"
)
_FEW_STEPS = re.compile(
    r"\b(?:hundred|five|ten|500) (?:\w+ )?steps\b|^replay\b|^three short runs|range test|cool-down"
)


@dataclass(frozen=True, slots=True)
class Rung:
    """One thing to find out. `cost` is None where the next run tells it on the way.

    `decides` are the causes it is about, `probability` that of the likeliest.
    """

    means: Means
    what: str
    decides: tuple[str, ...]
    probability: float
    cost: Cost | None
    if_so: str
    if_not: str
    where: tuple[Where, ...] = ()


def ladder(case: Case, treated: Iterable[str], remedies: Iterable[RemedyEntry]) -> tuple[Rung, ...]:
    """The rungs for the causes that the prescription does not treat, in the order to climb them."""
    known = tuple(remedies)
    open_ones = [cause for cause in case.explanation.causes if _is_open(cause, frozenset(treated))]
    rungs = [*(_tried(cause, case, known) for cause in open_ones), *_logged(case, open_ones)]
    return tuple(sorted(rungs, key=_order)[:MOST_RUNGS])


def _is_open(cause: RankedCause, treated: frozenset[str]) -> bool:
    left = cause.standing is not Standing.CONTRADICTED and cause.consequence_of is None
    return left and cause.name not in treated


def _tried(cause: RankedCause, case: Case, remedies: tuple[RemedyEntry, ...]) -> Rung:
    what = cause.entry.cause.confirm_by
    remedy = next((one for one in remedies if cause.name in one.remedy.cures), None)
    title = cause.entry.cause.title
    then = f"; then: {remedy.summary[:1].lower()}{remedy.summary[1:].rstrip('.')}" if remedy else ""
    refuted = speaks_against(cause)
    against = f"; another sign of that: {refuted}" if refuted else ""
    return Rung(
        Means.TRY,
        what,
        (cause.name,),
        cause.probability,
        _cost(what, cause, case),
        f"it is this: {title}{then}",
        f"it is something else{against}",
        cause.where[:1],
    )


def _cost(what: str, cause: RankedCause, case: Case) -> Cost:
    if _FEW_STEPS.search(what):
        whole = cost_between(case.run, None, None)
        steps = int(SHARE_OF_A_FEW_STEPS * whole.steps) if whole.steps else None
        hours = SHARE_OF_A_FEW_STEPS * whole.hours if whole.hours is not None else None
        return Cost(steps, SHARE_OF_A_FEW_STEPS, hours, whole.unit)
    if not _TRAINS.search(what):
        return NOTHING
    return cost_between(case.run, None, _past(cause, case))


def _past(cause: RankedCause, case: Case) -> int | None:
    if cause.onset is None or case.run.steps is None:
        return None
    return min(int(BEYOND_ONSET * cause.onset) + 1, case.run.steps[1])


def _logged(case: Case, causes: list[RankedCause]) -> Iterator[Rung]:
    titles = {cause.name: cause for cause in causes}
    for question in case.explanation.ask:
        about = [titles[name] for name in question.decides if name in titles]
        if question.means is Means.LOG and about:
            yield _asked(question, about)


def _asked(question: Question, about: list[RankedCause]) -> Rung:
    likeliest = max(about, key=lambda cause: cause.probability)
    names = tuple(cause.name for cause in about)
    title = likeliest.entry.cause.title
    return Rung(
        Means.LOG,
        question.what,
        names,
        likeliest.probability,
        None,
        f"the rules that read it can say so; before all: {title}",
        "the rules that read it are clear, which speaks against it",
    )


def _order(rung: Rung) -> tuple[float, str]:
    share = SHARE_OF_A_LOOK if rung.cost is None else rung.cost.share
    return -rung.probability / max(1.0 if share is None else share, SHARE_OF_A_LOOK), rung.what
