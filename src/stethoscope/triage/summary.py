"""What is remembered of a run: one line of a triage."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

HEALTHY, AT_RISK, SICK, UNKNOWN, UNREADABLE = "healthy", "at-risk", "sick", "unknown", "unreadable"


@dataclass(frozen=True, slots=True)
class SummaryCause:
    """A cause that stands, or the likeliest of those that do not."""

    name: str
    title: str
    probability: float
    standing: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in short.

    `verdict` is that of the diagnosis, or "unreadable", and `error` says why. The steps are None where no
    series counts. `last_written` is a Unix time, that of the log or of its file. `next` is what to do next.
    `symptoms` are the codes of what was found.
    """

    path: str
    name: str
    verdict: str
    causes: tuple[SummaryCause, ...] = ()
    symptoms: tuple[str, ...] = ()
    first_step: int | None = None
    last_step: int | None = None
    last_written: float | None = None
    ended: str = ""
    going: bool = False
    next: str = ""
    error: str = ""
    seconds: float = 0.0

    @property
    def cause(self) -> SummaryCause | None:
        """The first cause."""
        return self.causes[0] if self.causes else None

    @property
    def is_found_sick(self) -> bool:
        """Whether something was found: a cause that stands, or a symptom without one."""
        return self.verdict in {SICK, AT_RISK} or (self.verdict == UNKNOWN and bool(self.symptoms))


def as_json(summary: Summary) -> str:
    """A summary as the index stores it."""
    return json.dumps(asdict(summary), ensure_ascii=True, allow_nan=False)


def from_json(text: str) -> Summary | None:
    """The summary that was stored; None for what is none."""
    try:
        told = json.loads(text)
        known = {field.name for field in fields(Summary)}
        kept = {name: value for name, value in told.items() if name in known}
        kept["causes"] = tuple(SummaryCause(**one) for one in kept.get("causes", ()))
        kept["symptoms"] = tuple(kept.get("symptoms", ()))
        return Summary(**kept)
    except (ValueError, TypeError, AttributeError):
        return None
