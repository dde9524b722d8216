"""Everything that a view shows, at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field

from stethoscope.diagnose import Diagnosis
from stethoscope.watching.alerts import WATCH, Alert, Sighting
from stethoscope.watching.heartbeat import Heartbeat
from stethoscope.watching.vital_signs import VitalSign

KEPT_ALERTS = 100


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A run as far as it is known. `waiting` says why there is nothing to judge (any more).

    `alerts` are those told so far with their Unix times, the last one last; `judged_at` is the Unix time of
    the last judgement and `cost` the seconds it took; `problem` is what hinders the watching itself.
    """

    path: str
    diagnosis: Diagnosis | None = None
    beat: Heartbeat = field(default_factory=Heartbeat)
    signs: tuple[VitalSign, ...] = ()
    seen: tuple[Sighting, ...] = ()
    alerts: tuple[tuple[float, Alert], ...] = ()
    waiting: str = ""
    problem: str = ""
    judged_at: float | None = None
    cost: float = 0.0

    @property
    def found(self) -> tuple[Sighting, ...]:
        """What rules and Guard found, without what is told of the run's silence and end."""
        return tuple(seen for seen in self.seen if seen.by != WATCH)
