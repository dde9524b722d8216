"""How often somebody elsewhere is disturbed: so many messages an hour, and one summary of the others."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.watching.alerts import Alert

PER_HOUR = 6
HOUR = 3600.0
MOST_HELD = 50  # alerts; a summary of more is read by nobody


@dataclass(frozen=True, slots=True)
class Quota:
    """When messages were sent within the last hour, and the alerts held back; `more` were dropped."""

    sent: tuple[float, ...] = ()
    held: tuple[Alert, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """Alerts to send in one message; `summary` says they were held back, `more` how many are left out."""

    alerts: tuple[Alert, ...]
    summary: bool = False
    more: int = 0


def update(quota: Quota, alerts: tuple[Alert, ...], now: float) -> tuple[Quota, Batch | None]:
    """What may be sent at this moment, those held back included."""
    sent = tuple(time for time in quota.sent if now - time < HOUR)
    waiting = (*quota.held, *alerts)
    if not waiting:
        return Quota(sent, (), quota.more), None
    if len(sent) >= PER_HOUR:
        more = quota.more + max(0, len(waiting) - MOST_HELD)
        return Quota(sent, waiting[-MOST_HELD:], more), None
    return Quota((*sent, now)), Batch(waiting, bool(quota.held), quota.more)


def last_batch(quota: Quota) -> Batch | None:
    """What is still held back when the watching ends."""
    return Batch(quota.held, True, quota.more) if quota.held else None
