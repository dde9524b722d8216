"""What a visit to the clinic found, in words: for the terminal and for its page."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.causes import Standing
from stethoscope.clinic.case import Case, Change, Role
from stethoscope.clinic.visit import Visit
from stethoscope.clinic.visit_picture import SPOKEN, score_of


def summary(visit: Visit) -> Iterator[str]:
    """One line for each thing that a person should take home."""
    yield f"The diagnosis of the run as it is: {visit.diagnosis.verdict}."
    for title, probability, standing in causes(visit):
        yield f"  {title} ({probability}, {standing})"
    yield from treatment(visit)
    metric = visit.case.metric
    for one in visit.patients:
        yield f"  {SPOKEN[one.name]:<14}{metric.name} {score_of(one, metric)}"
    if metric.bar is not None:
        yield f"  {'doing nothing':<14}{metric.name} {metric.bar:.4g} {metric.unit}".rstrip()


def causes(visit: Visit) -> Iterator[tuple[str, str, str]]:
    """The causes that stand: what each is, how probable, and how that is known."""
    for cause in visit.diagnosis.explanation.causes:
        if cause.standing in (Standing.PROVED, Standing.SUPPORTED):
            yield cause.entry.cause.title, f"{cause.probability:.2f}", str(cause.standing)


def treatment(visit: Visit) -> Iterator[str]:
    """What was done about it."""
    if visit.applied:
        yield f"Applied as prescribed: {', '.join(visit.applied)}."
    elif visit.cured is not None:
        yield "Nothing that is prescribed can be applied by itself."
    if visit.shown:
        yield f"Shown and not applied, being unproved: {', '.join(visit.shown)}."


def told_of(case: Case) -> Iterator[tuple[str, list[str]]]:
    """A case for somebody who has never seen it: headings, each with its lines."""
    yield "What happens", [case.story]
    cures = [change for change in case.changes if change.role is Role.CURE]
    if cures:
        yield "What cures it", [_line(change) for change in cures]
    advice = [change for change in case.changes if change.role is Role.ADVICE]
    if advice:
        yield "What was advised", [_line(change) for change in advice]
    placebos = [change for change in case.changes if change.role is Role.PLACEBO]
    if placebos:
        yield "What cannot act", [_line(change) for change in placebos]
    yield "Made sick in minutes by", [f"- {line}" for line in case.exaggerated]
    sizes = [f"- {size.name}: about {size.seconds:g} s a run" for size in case.sizes]
    yield "Sizes", sizes


def _line(change: Change) -> str:
    claims = f" (write-up {', '.join(change.claims)})" if change.claims else ""
    return f"- {change.name}: {change.title}{claims}"
