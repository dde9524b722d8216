"""The ids by which the parts of the page are linked; none of them holds a stranger's text."""

from __future__ import annotations

from collections.abc import Sequence

from stethoscope.causes import RankedCause
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Finding

CHECKPOINT, TIMELINE, FINDINGS, CAUSES, CHARTS = "checkpoint", "timeline", "findings", "causes", "charts"


def of_findings(diagnosis: Diagnosis) -> dict[Finding, str]:
    """The id of every finding."""
    return {found.finding: f"finding-{at}" for at, found in enumerate(diagnosis.examination.found, start=1)}


def of_causes(causes: Sequence[RankedCause]) -> dict[str, str]:
    """The id of every cause, by its name."""
    return {cause.name: f"cause-{at}" for at, cause in enumerate(causes, start=1)}


def of_chart(number: int) -> str:
    """The id of a chart."""
    return f"chart-{number}"
