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
    for share in (
        found.flagged,
        found.first,
        found.first_three,
        found.latent_first_three,
        found.false_alarms,
    ):
        yield _share(share)
    yield "-" if math.isnan(found.calibration_error) else f"{found.calibration_error:.3f}"
    yield _share(found.checkpoint)


def _share(share: Share) -> str:
    return f"{share.value:.2f} ({share.right}/{share.of})" if share.of else "-"


def markdown(results: Sequence[Result]) -> str:
    """The table for a page."""
    lines = [" | ".join(HEADINGS), " | ".join("---" for _ in HEADINGS)]
    lines += [" | ".join(row) for row in rows(results)]
    return "\n".join(f"| {line} |" for line in lines)


def goals() -> Iterator[str]:
    """What is to be reached."""
    for part, evidence, goal in GOALS:
        yield f"Goal, {part}, {evidence.value}: {goal}."
