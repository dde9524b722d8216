"""Stethoscope and its peers on the same runs, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.clinic.faultbench.asking_peers import Asked
from stethoscope.clinic.faultbench.bench import joined
from stethoscope.clinic.faultbench.label import Label
from stethoscope.clinic.faultbench.measured import Measured
from stethoscope.clinic.faultbench.opinion import Evidence, Opinion
from stethoscope.clinic.faultbench.scoring import Judged, Share, share

OURS = "stethoscope"
GRAVE = "sick"
HEADINGS = (
    "tool",
    "reads",
    "flagged",
    "false",
    "grave",
    "grave, false",
    "first",
    "in three",
    "ours: flagged",
    "ours: false",
    "ours: first",
)
SHORT = (
    "tool",
    "reads",
    "flagged",
    "false",
    "first",
    "in three",
    "ours: flagged",
    "ours: false",
    "ours: first",
)
LEGEND = (
    "Flagged, first, in three: of the faults that do harm, or of all where that was not measured. False: "
    "alarms on runs in which nothing is wrong. An alarm is a warning or worse. The last three columns are "
    "ours with logs alone, less theirs."
)


@dataclass(frozen=True, slots=True)
class Compared:
    """What one tool reaches. `gravely` counts its gravest verdict alone: sick, critical, error, fail.

    `answered` are the runs that it had an opinion about.
    """

    tool: str
    version: str
    reads: str
    answered: Share
    flagged: Share
    false_alarms: Share
    gravely_flagged: Share
    gravely_false: Share
    first: Share
    first_three: Share


def compared(
    labels: Sequence[Label], said: dict[Evidence, dict[str, Opinion]], asked: Sequence[Asked], known: Measured
) -> list[Compared]:
    """One row for each tool and what it reads, our own first."""
    ours = [
        _compared(OURS, "", evidence.value, joined(labels, opinions, known))
        for evidence, opinions in said.items()
    ]
    theirs = [
        _compared(
            one.name, one.version, one.grain.value if one.version else "", joined(labels, one.opinions, known)
        )
        for one in asked
    ]
    return [*ours, *theirs]


def _compared(tool: str, version: str, reads: str, runs: Sequence[Judged]) -> Compared:
    faults, well = counted(runs), [run for run in runs if not run.label.is_sick]
    return Compared(
        tool,
        version,
        reads,
        share(runs, lambda run: run.opinion.verdict not in {"no opinion", "unreadable"}),
        share(faults, lambda run: run.opinion.is_alarm),
        share(well, lambda run: run.opinion.is_alarm),
        share(faults, lambda run: run.opinion.verdict == GRAVE),
        share(well, lambda run: run.opinion.verdict == GRAVE),
        share(faults, lambda run: run.is_right(1)),
        share(faults, lambda run: run.is_right(3)),
    )


def counted(runs: Sequence[Judged]) -> list[Judged]:
    """The runs whose faults do harm; all that have one where no harm was measured."""
    return [run for run in runs if run.consequential] or [run for run in runs if run.label.is_sick]


def rows(every: Sequence[Compared]) -> Iterator[tuple[str, ...]]:
    """What each tool reaches, and by how much ours is ahead of it with logs alone."""
    for one in every:
        alarms = (one.flagged, one.false_alarms, one.gravely_flagged, one.gravely_false)
        shares = map(_shown, (*alarms, one.first, one.first_three))
        yield (f"{one.tool} {one.version}".strip(), one.reads, *shares, *_ahead(one, every))


def short_rows(every: Sequence[Compared]) -> Iterator[tuple[str, ...]]:
    """The same without counts and versions, for a terminal."""
    for one in every:
        shares = (one.flagged, one.false_alarms, one.first, one.first_three)
        shown = (f"{share.value:.2f}" if share.of else "-" for share in shares)
        yield (one.tool, one.reads, *shown, *_ahead(one, every))


def _ahead(one: Compared, every: Sequence[Compared]) -> tuple[str, str, str]:
    ours = next((row for row in every if (row.tool, row.reads) == (OURS, Evidence.LOGS.value)), None)
    if ours is None or one.tool == OURS:
        return "", "", ""
    return (
        _more(ours.flagged, one.flagged),
        _more(ours.false_alarms, one.false_alarms),
        _more(ours.first, one.first),
    )


def _more(ours: Share, theirs: Share) -> str:
    apart = ours.value - theirs.value
    return "-" if math.isnan(apart) else f"{apart:+.2f}"


def _shown(one: Share) -> str:
    return f"{one.value:.2f} ({one.right}/{one.of})" if one.of else "-"
