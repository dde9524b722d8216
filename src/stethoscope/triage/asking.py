"""Which summaries are shown, and in which order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from stethoscope.errors import StethoscopeError
from stethoscope.triage.summary import AT_RISK, HEALTHY, SICK, UNKNOWN, UNREADABLE, Summary

ORDERS = ("sickest", "recent", "name", "steps")
VERDICTS = (SICK, AT_RISK, UNKNOWN, UNREADABLE, HEALTHY)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


@dataclass(frozen=True, slots=True)
class Choice:
    """What to show: any of these verdicts, any of these causes, names that match, written since a time."""

    verdicts: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    match: str = ""
    since: float | None = None


def chosen(summaries: Iterable[Summary], choice: Choice) -> list[Summary]:
    """The summaries that fit."""
    return [one for one in summaries if _fits(one, choice)]


def in_order(summaries: Iterable[Summary], order: str = "sickest") -> list[Summary]:
    """The summaries in one of the orders; the sickest first where nothing else is asked."""
    if order == "recent":
        return sorted(summaries, key=lambda one: (-(one.last_written or 0.0), one.path))
    if order == "name":
        return sorted(summaries, key=lambda one: one.path)
    if order == "steps":
        return sorted(summaries, key=lambda one: (-(one.last_step or 0), one.path))
    return sorted(summaries, key=_sickness)


def since(typed: str, now: float) -> float:
    """The Unix time of "3d", "12h" or "2026-11-15": ago, or a date."""
    ago = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", typed.strip())
    if ago:
        return now - float(ago[1]) * _SECONDS[ago[2]]
    try:
        return datetime.fromisoformat(typed.strip()).timestamp()
    except (ValueError, OverflowError):
        raise StethoscopeError(
            f"--since {typed}: give 30m, 12h, 3d, 2w or a date such as 2026-11-15."
        ) from None


def _fits(one: Summary, choice: Choice) -> bool:
    if choice.verdicts and one.verdict not in choice.verdicts:
        return False
    if choice.causes and not any(_is_meant(cause.name, choice.causes) for cause in one.causes):
        return False
    if choice.match and not _matches(one.path, choice.match):
        return False
    return choice.since is None or (one.last_written is not None and one.last_written >= choice.since)


def _is_meant(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern.lower().replace("_", "-")) for pattern in patterns)


def _matches(path: str, pattern: str) -> bool:
    wanted = pattern.lower()
    return fnmatchcase(path.lower(), wanted) if any(c in wanted for c in "*?[") else wanted in path.lower()


def _sickness(one: Summary) -> tuple[int, float, float, str]:
    """Sick before at risk; the surest first, and of equals the latest."""
    place = VERDICTS.index(one.verdict) if one.verdict in VERDICTS else len(VERDICTS)
    surely = -one.cause.probability if one.cause else 0.0
    return place, surely, -(one.last_written or 0.0), one.path
