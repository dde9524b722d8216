"""The steps worth marking on a chart, and the part of the page that each leads to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stethoscope.findings import Finding
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.anchors import CHECKPOINT, TIMELINE
from stethoscope.report.timeline import Happening, Kind
from stethoscope.run import Series

MOST = 12  # marks on one chart; more hide the curve
LONGEST_TITLE = 300
# What a mark is called where there is room for a word or two.
SHORT = {
    Kind.ONSET: "onset",
    Kind.BEST: "best",
    Kind.RESTART: "restart",
    Kind.CHECKPOINT: "go back to",
    Kind.REGIME: "rate",
    Kind.MESSAGE: "message",
}
EVERYWHERE = frozenset({Kind.RESTART, Kind.CHECKPOINT, Kind.MESSAGE})


@dataclass(frozen=True, slots=True)
class Mark:
    """A step with a few words, and the id of what it leads to."""

    step: int
    kind: Kind
    short: str
    title: str
    leads_to: str


def marks(
    told: Sequence[Happening], drawn: Sequence[Series], anchors: Mapping[Finding, str]
) -> tuple[Mark, ...]:
    """What happened to these series, and what happened to the run as a whole, in the order of the steps."""
    found = [
        Mark(
            happening.step,
            happening.kind,
            SHORT[happening.kind],
            one_line(happening.title, LONGEST_TITLE),
            _target(happening, anchors),
        )
        for happening in _worth_marking(told, drawn)
        if happening.step is not None
    ]
    return tuple(found[:MOST])


def _worth_marking(told: Sequence[Happening], drawn: Sequence[Series]) -> Iterator[Happening]:
    names = {series.name for series in drawn}
    axes = {series.axis for series in drawn}
    for happening in told:
        if happening.kind not in SHORT or happening.axis not in axes:
            continue
        if happening.kind in EVERYWHERE or names & _concerned(happening):
            yield happening


def _concerned(happening: Happening) -> set[str]:
    """The series that a happening is about; an onset is about every series its finding points at."""
    if happening.found is None:
        return {happening.series or ""}
    return {place.series for place in happening.found.finding.places if place.series}


def _target(happening: Happening, anchors: Mapping[Finding, str]) -> str:
    if happening.found is not None:
        return anchors[happening.found.finding]
    return CHECKPOINT if happening.kind is Kind.CHECKPOINT else TIMELINE
