"""What happened during a training, as Guard wrote it down beside its flight record: one object per line.

{"flight_record":1,"kind":"started","wall":1785320102.1,"rank":0,"facts":{"optimizer":"AdamW"}}
{"kind":"non-finite-gradient","step":41,"wall":1785320141.0,"severity":"warning","seen":"The norm is inf."}
{"kind":"finished","step":99,"wall":1785320199.9,"seen":"the program ended without an error"}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.events import LONGEST_MESSAGE, Scanner
from stethoscope.logs._reading.head import Head
from stethoscope.run import Event, EventKind, Log
from stethoscope.run.flight_record import EVENTS_KEY, EVENTS_SUFFIX, moment, object_in, whole_number

FORMAT = "flight record events"
DECISIVE = 0.9  # the lines are JSON, which another reader would take as well

_BEGINNING = f'{{"{EVENTS_KEY}":'.encode()
_STOPPED = re.compile(r"^Guard stopped the training at step \d+\. ")  # what the kind of the event says
LONGEST_LINE = 1 << 24  # bytes; a longer one is passed over

# What is an event of any log. Values that are not finite stand in the record itself, step by step, where they
# are judged by whether they lasted; a message of them would say that they did.
EVENTS: Mapping[str, EventKind] = {
    "started": EventKind.STARTED,
    "resumed": EventKind.RESUMED,
    "rewound": EventKind.RESUMED,
    "checkpoint-saved": EventKind.CHECKPOINT,
    "bad-checkpoint": EventKind.NON_FINITE,
    "non-finite-gradient": EventKind.OVERFLOW,
    "loss-scale-falling": EventKind.OVERFLOW,
    "stopped": EventKind.STOPPED_BY_GUARD,
    "finished": EventKind.FINISHED,
    "failed": EventKind.TRACEBACK,
}


def recognise(head: Head) -> float:
    """A first line that begins by saying what this is; without it, the name."""
    if head.start.startswith(_BEGINNING):
        return 1.0
    return 0.9 if head.name.startswith("flight-") and head.name.endswith(EVENTS_SUFFIX) else 0.0


def begin(head: Head) -> FlightEvents:
    """Read lines as they come."""
    return FlightEvents(head.file, head.changed)


@dataclass(slots=True)
class FlightEvents:
    """The events of a flight record being read."""

    file: str
    changed: float | None
    lines: int = 0
    bad: int = 0
    events: list[Event] = field(default_factory=list)
    first: dict[str, object] = field(default_factory=dict)
    last_time: float | None = None

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole lines among these bytes."""
        end = len(data) if last else data.rfind(b"\n") + 1
        if end == 0 and len(data) > LONGEST_LINE:
            end = len(data)
        for line in data[:end].removesuffix(b"\n").split(b"\n") if end else ():
            self.lines += 1
            self._line(line)
        return end

    def log(self) -> Log:
        """What was read so far."""
        if not self.first and not self.events:
            raise UnreadableFile(f"{self.file}: events of a flight record, and no line of them is whole")
        notes = ["no values in it; kept for what it says about the run"]
        if self.bad:
            notes.append(f"{self.bad:,} lines are not JSON objects and were passed over")
        return Log(
            self.file,
            FORMAT,
            events=tuple(self.events),
            started=moment(self.first, "wall"),
            last_written=self.last_time or self.changed,
            notes=tuple(notes),
        )

    def _line(self, line: bytes) -> None:
        said = object_in(line)
        if not said:
            self.bad += bool(line.strip())
            return
        if EVENTS_KEY in said and not self.first:
            self.first = said
        self.last_time = moment(said, "wall") or self.last_time
        event = self._event(said)
        if event is not None:
            self.events.append(event)

    def _event(self, said: dict[str, object]) -> Event | None:
        kind = EVENTS.get(str(said.get("kind")))
        if kind is None:
            return None
        message = " ".join(str(said[key]) for key in ("seen", "means") if isinstance(said.get(key), str))
        step = whole_number(said, "step")
        facts = said.get("facts")
        if kind is EventKind.STARTED and isinstance(facts, dict) and whole_number(facts, "resumed_at"):
            kind, step = EventKind.RESUMED, whole_number(facts, "resumed_at")
        if said["kind"] == "failed":
            kind = self._failure(message)
        if kind is EventKind.STOPPED_BY_GUARD:
            message = _STOPPED.sub("", message)
        return Event(kind, _in_short(message) or str(said["kind"]), self.file, self.lines, step)

    def _failure(self, message: str) -> EventKind:
        """What ended the program, by the words of the exception."""
        scanner = Scanner(self.file)
        scanner.see(1, message, None)
        return next((event.kind for event in scanner.events()), EventKind.TRACEBACK)


def _in_short(message: str) -> str:
    """As many whole sentences of a message as fit; where not even the first does, its beginning."""
    if len(message) <= LONGEST_MESSAGE:
        return message
    cut = message[:LONGEST_MESSAGE]
    return cut[: cut.rfind(". ") + 1] or cut
