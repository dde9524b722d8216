"""The figures of the bench as a table, with the goals beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from stethoscope.clinic.faultbench.bench import HELD_OUT, Result
from stethoscope.clinic.faultbench.opinion import Evidence
from stethoscope.clinic.faultbench.scoring import Figures, Share
from stethoscope.clinic.faultbench.split import Part

HEADINGS = (
    "part",
    "evidence",
    "runs",
    "flagged",
    "right first",
    "in first three",
    "latent, in three",
    "false alarms",
    "ECE",
    "checkpoint",
)
NOT_MEASURED = " *"
NOTE = "* of all that was planted: which of it does harm takes 5 runs of each and 20 healthy ones to know."
GOALS = (
    (
        HELD_OUT,
        Evidence.ALL,
        "flagged >= .92, first >= .80, in three >= .93, false alarms <= .01, ECE <= .08",
    ),
    (Part.NEW_TASK.value, Evidence.ALL, "first >= .72, in three >= .88"),
    (HELD_OUT, Evidence.LOGS, "first >= .62, in three >= .82"),
)


def rows(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    """One row for each part and kind of evidence."""
    for one in results:
        if one.runs:
            yield (one.part, one.evidence.value, str(one.runs), *_figures(one.figures))


def _figures(found: Figures) -> Iterator[str]:
    if found.flagged.of:
        yield from map(_share, (found.flagged, found.first, found.first_three))
    else:
        planted = (found.planted_flagged, found.planted_first, found.planted_first_three)
        yield from (_share(share) + NOT_MEASURED * bool(share.of) for share in planted)
    yield _share(found.latent_first_three)
    yield _share(found.false_alarms)
    yield "-" if math.isnan(found.calibration_error) else f"{found.calibration_error:.3f}"
    yield _share(found.checkpoint)


def _share(share: Share) -> str:
    return f"{share.value:.2f} ({share.right}/{share.of})" if share.of else "-"


def markdown(results: Sequence[Result]) -> str:
    """The table for a page."""
    lines = [" | ".join(HEADINGS), " | ".join("---" for _ in HEADINGS)]
    lines += [" | ".join(row) for row in rows(results)]
    return "\n".join(f"| {line} |" for line in lines)


def goals(results: Sequence[Result]) -> Iterator[str]:
    """What is to be reached, below the table."""
    if any(cell.endswith(NOT_MEASURED) for row in rows(results) for cell in row):
        yield NOTE
    for part, evidence, goal in GOALS:
        yield f"Goal, {part}, {evidence.value}: {goal}."
