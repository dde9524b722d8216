"""What the logs said in words."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.run import Event, EventKind, Run
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True)
class Announcements:
    """The events of all logs, in order."""

    events: tuple[Event, ...]

    def of(self, kind: EventKind) -> tuple[Event, ...]:
        """The events of one kind."""
        return tuple(event for event in self.events if event.kind is kind)


def measure(run: Run) -> Announcements | Missing:
    """Collect the events; a table of numbers has none."""
    if not run.events:
        return Missing("the logs hold no messages")
    return Announcements(run.events)
