"""What is worth telling, once: the same thing is told again only when it gets worse or comes back.

The same means the same rule at the same place. This is a pure step, like a detector: what was told so far and
what is seen give what to tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Found, Severity
from stethoscope.run import Where
from stethoscope.signals.ending import FINISHED, STILL_RUNNING, UNKNOWN
from stethoscope.watching.heartbeat import Heartbeat, duration

CLEAR_FOR = 3  # judgements in a row without it; a finding at its threshold comes and goes
CONFIRMED = 2  # judgements in a row with it: one value, such as the first validation, may look sick
RANK = {Severity.NOTE: 0, Severity.WARNING: 1, Severity.CRITICAL: 2}

STALLED, ENDED = "stalled", "ended"
RULE, GUARD, WATCH = "rule", "guard", "watch"  # who saw it

Key = tuple[str, str]  # what, and where


class Why(StrEnum):
    """Why something is told."""

    FOUND = "found"
    WORSE = "worse"
    BACK = "back"
    CLEAR = "clear"


@dataclass(frozen=True, slots=True)
class Sighting:
    """Something that is so: a rule's finding, a word of Guard, a run that stands still, or its end."""

    key: Key
    severity: Severity
    name: str
    message: str
    code: str = ""
    places: tuple[Where, ...] = ()
    onset: int | None = None
    by: str = RULE


@dataclass(frozen=True, slots=True)
class Alert:
    """A sighting that is told, and why. One that is `clear` says that it is over."""

    sighting: Sighting
    why: Why
    before: Severity | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A sighting of late: in how many judgements in a row it was seen, or not seen.

    `told` is the worst severity that was told; None while it awaits to be confirmed. `over` says that it was
    told to be clear.
    """

    sighting: Sighting
    seen_for: int = 1
    clear_for: int = 0
    told: Severity | None = None
    over: bool = False


Memories = Mapping[Key, Memory]


def sightings(diagnosis: Diagnosis, beat: Heartbeat, guard: Iterable[Sighting] = ()) -> tuple[Sighting, ...]:
    """What is worth telling: symptoms that nothing benign explains, words of Guard, silence, the end."""
    seen: dict[Key, Sighting] = {}
    for symptom in diagnosis.explanation.symptoms:
        sighting = _of(symptom)
        known = seen.get(sighting.key)
        if known is None or RANK[sighting.severity] > RANK[known.severity]:
            seen[sighting.key] = sighting
    found = sorted([*seen.values(), *guard], key=lambda one: (-RANK[one.severity], one.code, one.key))
    return (*found, *_ending(diagnosis), *_silence(beat))


def is_over(diagnosis: Diagnosis) -> bool:
    """Whether the logs say that the run has ended, well or not."""
    return diagnosis.ending.how not in {STILL_RUNNING, UNKNOWN}


def update(
    memories: Memories, seen: Iterable[Sighting], *, at_once: bool = False
) -> tuple[Memories, tuple[Alert, ...]]:
    """What to tell, given what was told before; `at_once` where no judgement may follow to confirm it."""
    present = {sighting.key: sighting for sighting in seen}
    kept: dict[Key, Memory] = {}
    alerts: list[Alert] = []
    for key, sighting in present.items():
        memory = _seen(memories.get(key), sighting)
        alert = _alert(memory) if at_once or _is_sure(memory) else None
        kept[key] = memory if alert is None else replace(memory, told=sighting.severity, over=False)
        alerts += [alert] if alert else []
    for key, memory in memories.items():
        if key not in present and memory.told is not None:
            cleared = memory.clear_for + 1
            over = memory.over or cleared >= CLEAR_FOR
            kept[key] = replace(memory, clear_for=cleared, seen_for=0, over=over)
            alerts += [Alert(memory.sighting, Why.CLEAR)] if over and not memory.over else []
    return kept, tuple(alerts)


def _of(found: Found) -> Sighting:
    finding = found.finding
    place = _place(finding.places[0]) if finding.places else ""
    key = (found.rule.code, place)
    return Sighting(
        key, found.severity, found.rule.name, finding.message, found.rule.code, finding.places, finding.onset
    )


def _place(where: Where) -> str:
    """An address without its steps: they move on as the run does."""
    return where.series or f"{where.file}:{where.line}"


def _ending(diagnosis: Diagnosis) -> Iterator[Sighting]:
    ending = diagnosis.ending
    if is_over(diagnosis):
        severity = Severity.NOTE if ending.how == FINISHED else Severity.CRITICAL
        places = (ending.where,) if ending.where else ()
        yield Sighting(
            (ENDED, ending.how), severity, ENDED, f"{ending.how}: {ending.why}", places=places, by=WATCH
        )


def _silence(beat: Heartbeat) -> Iterator[Sighting]:
    if beat.stalled and beat.silent is not None:
        message = f"no line for {duration(beat.silent)}: the run stands still, or was killed without a word"
        yield Sighting((STALLED, ""), Severity.WARNING, STALLED, message, by=WATCH)


def _seen(memory: Memory | None, sighting: Sighting) -> Memory:
    if memory is None:
        return Memory(sighting)
    return replace(memory, sighting=sighting, seen_for=memory.seen_for + 1, clear_for=0)


def _is_sure(memory: Memory) -> bool:
    """Whether to tell without waiting: what is critical, or stands in a file, does not pass by itself."""
    sighting = memory.sighting
    of_curve = bool(sighting.places) and sighting.places[0].series is not None
    return sighting.severity is Severity.CRITICAL or not of_curve or memory.seen_for >= CONFIRMED


def _alert(memory: Memory) -> Alert | None:
    sighting, told = memory.sighting, memory.told
    if told is None:
        return Alert(sighting, Why.FOUND)
    if memory.over:
        return Alert(sighting, Why.BACK, told)
    return Alert(sighting, Why.WORSE, told) if RANK[sighting.severity] > RANK[told] else None
