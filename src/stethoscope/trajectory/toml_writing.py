"""A trajectory as a commented TOML file, made to be read and edited by people."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator

from stethoscope.trajectory.trajectory import (
    SCHEMA,
    Condition,
    Held,
    Phase,
    Row,
    Scale,
    Side,
    Trajectory,
    WarningSign,
)

_BARE = re.compile(r"[A-Za-z0-9_-]+")
DIGITS = 5  # significant; a band is not known better
WIDEST_COMMENT = 100


def written(trajectory: Trajectory) -> str:
    """The whole file."""
    parts = [
        _head(trajectory),
        *(_phase(one) for one in trajectory.phases),
        *(_held(one) for one in trajectory.signals),
        *(_sign(one) for one in trajectory.signs),
        _look(trajectory),
        _unforecast(trajectory),
    ]
    return "\n".join("".join(f"{line}\n" for line in part) for part in map(list, parts) if part)


def _head(trajectory: Trajectory) -> Iterator[str]:
    yield from _comment("What the next run is held to: `stethoscope check RUN --against THIS_FILE`.")
    yield from _comment("Edit it freely. Every key but schema may be left out. Steps are those of the log.")
    yield f"schema = {SCHEMA}"
    yield ""
    yield "[run]"
    if trajectory.name:
        yield f"name = {_text(trajectory.name)}"
    if trajectory.steps is not None:
        yield f"steps = {trajectory.steps}  # of the whole run"
    rate = f"false_alarms = {_number(trajectory.false_alarms)}"
    yield f"{rate}  # of healthy runs that may leave any band, all signals together"


def _phase(phase: Phase) -> Iterator[str]:
    yield "[[phase]]"
    yield f"name = {_text(phase.name)}"
    yield f"from = {phase.first}"
    yield f"to = {phase.last}"
    if phase.why:
        yield f"why = {_text(phase.why)}"


def _held(held: Held) -> Iterator[str]:
    yield f"[signal.{_key(held.name)}]"
    yield from _comment(_spoken(held))
    if held.source:
        yield f"source = {_text(held.source)}"
    yield f"worse = {_text(held.worse)}"
    if held.exact:
        yield "exact = true"
    else:
        yield f"scale = {_text(held.scale)}"
        yield f"confidence = {_number(held.confidence)}"
        if held.freedom is not None:
            yield f"freedom = {_number(held.freedom)}  # degrees of freedom of the band's width"
    if held.unit != "step":
        yield f"unit = {_text(held.unit)}"
    if held.log_this:
        yield f"log_this = {_text(held.log_this)}"
    yield "bands = ["
    for row in held.rows:
        yield f"  {_row(row)},"
    yield "]"


def _spoken(held: Held) -> str:
    if held.exact:
        return "Computed, not measured: the logged value lies between low and high at every step."
    sides = {Side.HIGH: "above the band", Side.LOW: "below the band", Side.BOTH: "outside the band"}
    unit = "as a factor" if held.scale is Scale.LOG else "as a difference"
    return (
        f"The level of a healthy run, not each noisy value: {held.confidence:.0%} of them lie inside at a "
        f"step. A level that stays {sides[held.worse]} is a departure; its distance is measured {unit}."
    )


def _row(row: Row) -> str:
    said = [("step", str(row.step))]
    said += [(part, _number(getattr(row, part))) for part in ("low", "expected", "high") if _has(row, part)]
    return "{ " + ", ".join(f"{key} = {value}" for key, value in said) + " }"


def _has(row: Row, part: str) -> bool:
    value = getattr(row, part)
    return value is not None and math.isfinite(value)


def _sign(sign: WarningSign) -> Iterator[str]:
    yield "[[warning]]"
    yield f"signal = {_text(sign.signal)}"
    yield f"when = {_text(sign.when)}"
    if sign.when in {Condition.ABOVE, Condition.BELOW} and sign.value is not None:
        yield f"value = {_number(sign.value)}"
    if sign.first:
        yield f"from = {sign.first}  # the first step at which it counts"
    if sign.lasts:
        yield f"for = {sign.lasts}  # steps without a gap"
    if sign.why:
        yield f"why = {_text(sign.why)}"


def _look(trajectory: Trajectory) -> Iterator[str]:
    if not trajectory.look.at and trajectory.look.every is None:
        return
    yield "[look]"
    yield from _comment("When to look: at these steps, where most goes wrong, and then every so many.")
    if trajectory.look.at:
        yield f"at = [{', '.join(map(str, trajectory.look.at))}]"
    if trajectory.look.every is not None:
        yield f"every = {trajectory.look.every}"


def _unforecast(trajectory: Trajectory) -> Iterator[str]:
    if not trajectory.unforecast:
        return
    yield "[unforecast]"
    yield from _comment("What could not be forecast honestly, and why: nothing is held to it.")
    for name, why in trajectory.unforecast.items():
        yield f"{_key(name)} = {_text(why)}"


def _comment(text: str) -> Iterable[str]:
    line = "#"
    for word in text.split():
        if len(line) + 1 + len(word) > WIDEST_COMMENT:
            yield line
            line = "#"
        line += f" {word}"
    yield line


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    # The escapes of JSON are among those of TOML, but for DEL and lone surrogates.
    safe = text.encode("utf-8", "replace").decode("utf-8").replace("\x7f", "?")
    if '"' in safe and "'" not in safe and safe.isprintable():
        return f"'{safe}'"
    return json.dumps(safe, ensure_ascii=False)


def _number(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.{DIGITS}g}"
