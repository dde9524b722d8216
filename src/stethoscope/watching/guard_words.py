"""What Guard told from inside the training, read from the events beside its flight record.

A rule judges the curves; Guard saw the batch, the gradients and the weights, so its words are passed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stethoscope.findings import Severity
from stethoscope.run import Where
from stethoscope.run.flight_record import EVENTS_SUFFIX, object_in, whole_number
from stethoscope.watching.alerts import GUARD, RANK, Sighting

MOST_BYTES = 8 << 20  # read at once; a run that tells more than this in seconds repeats itself
TOLD = frozenset({Severity.WARNING, Severity.CRITICAL})


@dataclass(slots=True)
class GuardWords:
    """The worst that Guard said of each kind of thing, with the last time it said so."""

    _offsets: dict[Path, int] = field(default_factory=dict)
    _lines: dict[Path, int] = field(default_factory=dict)
    _said: dict[str, Sighting] = field(default_factory=dict)

    def hear(self, files: Iterable[tuple[Path, str]]) -> bool:
        """Read what was added to the files of events among these; says whether Guard said anything."""
        heard = False
        for path, shown in files:
            if path.name.startswith("flight-") and path.name.endswith(EVENTS_SUFFIX):
                for sighting in self._added(path, shown):
                    heard = True
                    self._keep(sighting)
        return heard

    @property
    def sightings(self) -> tuple[Sighting, ...]:
        """What Guard warned of, the worst first."""
        return tuple(sorted(self._said.values(), key=lambda one: (-RANK[one.severity], one.name)))

    def _added(self, path: Path, shown: str) -> Iterator[Sighting]:
        try:
            size, offset = path.stat().st_size, self._offsets.get(path, 0)
            if size <= offset:
                return
            with path.open("rb") as stream:
                stream.seek(offset)
                data = stream.read(MOST_BYTES)
        except OSError:
            return
        whole = data.rfind(b"\n") + 1
        self._offsets[path] = offset + (whole or (len(data) if len(data) == MOST_BYTES else 0))
        for line in data[:whole].splitlines():
            number = self._lines[path] = self._lines.get(path, 0) + 1
            sighting = _sighting(object_in(line) or {}, shown, number)
            if sighting is not None:
                yield sighting

    def _keep(self, sighting: Sighting) -> None:
        known = self._said.get(sighting.name)
        if known is None or RANK[sighting.severity] >= RANK[known.severity]:
            self._said[sighting.name] = sighting


def _sighting(said: dict[str, object], shown: str, line: int) -> Sighting | None:
    severity, kind = str(said.get("severity")), said.get("kind")
    if severity not in TOLD or not isinstance(kind, str):
        return None
    step = whole_number(said, "step")
    words = [str(said[key]) for key in ("seen", "means", "try_first") if isinstance(said.get(key), str)]
    message, places = " ".join(words), (Where(shown, line=line),)
    return Sighting((GUARD, kind), Severity(severity), kind, message, places=places, onset=step, by=GUARD)
