"""A triage in words, the same in every format."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from stethoscope.report.words import count, percent
from stethoscope.triage import Summary, Triage
from stethoscope.triage.asking import VERDICTS

GOING = "still going"


def counted(told: Triage, shown: Sequence[Summary]) -> str:
    """How many runs there are of each verdict."""
    verdicts = Counter(one.verdict for one in told.summaries)
    parts = [f"{verdicts[name]:,} {name}" for name in VERDICTS if verdicts[name]]
    listed = f"; {len(shown):,} listed" if len(shown) != len(told.summaries) else ""
    return f"{count(len(told.summaries), 'run')} below {told.path}: {', '.join(parts) or 'none'}{listed}."


def age(summary: Summary, now: float | None = None) -> str:
    """How long ago the run wrote its last line."""
    if summary.last_written is None:
        return ""
    seconds = max(0.0, (now if now is not None else time.time()) - summary.last_written)
    for size, unit in ((86400 * 7, "w"), (86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s"


def cause(summary: Summary) -> str:
    """The probable cause and how sure it is; what went wrong where the run could not be read."""
    if summary.error:
        return summary.error
    if summary.cause is None:
        return ", ".join(summary.symptoms)
    sure = "proved" if summary.cause.standing == "proved" else percent(summary.cause.probability)
    more = f" and {len(summary.causes) - 1} more" if len(summary.causes) > 1 else ""
    return f"{summary.cause.name} ({sure}){more}"


def state(summary: Summary) -> str:
    """Whether the run still goes on, else how it ended."""
    return GOING if summary.going else summary.ended
