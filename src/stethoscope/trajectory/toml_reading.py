"""`stethoscope.toml` read back, after people have edited it: what is wrong is named with its line and key."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from stethoscope.errors import StethoscopeError
from stethoscope.trajectory.toml_places import line_of
from stethoscope.trajectory.trajectory import (
    CONFIDENCE,
    FALSE_ALARMS,
    SCHEMA,
    Condition,
    Held,
    Look,
    Phase,
    Row,
    Scale,
    Side,
    Trajectory,
    WarningSign,
)

LARGEST = 8 << 20  # bytes; a file that people edit is a thousand times smaller
MOST_ROWS = 10_000  # of one signal

KEYS: Mapping[str, tuple[str, ...]] = {
    # What is under lint is for `stethoscope lint`, which keeps its settings in a file of the same name.
    "the file": ("schema", "run", "phase", "signal", "warning", "look", "unforecast", "lint"),
    "run": ("name", "steps", "false_alarms"),
    "phase": ("name", "from", "to", "why"),
    "signal": (*("source", "worse", "exact", "scale", "confidence", "freedom", "unit", "log_this", "bands"),),
    "bands": ("step", "low", "expected", "high"),
    "warning": ("signal", "when", "value", "from", "for", "why"),
    "look": ("at", "every"),
}

Word = TypeVar("Word", bound=StrEnum)


class BadTrajectory(StethoscopeError):
    """The file cannot be used as it is; the message names the line, the key and what is wrong."""


def read_file(path: str) -> Trajectory:
    """The trajectory kept in a file; raises BadTrajectory for what is none."""
    try:
        if Path(path).is_file() and Path(path).stat().st_size > LARGEST:
            raise BadTrajectory(f"{path} is larger than {LARGEST >> 20} MB, so it is no trajectory.")
        content = Path(path).read_bytes()
    except (OSError, ValueError) as problem:
        why = (getattr(problem, "strerror", None) or str(problem)).lower()
        raise BadTrajectory(f"{path} could not be read: {why}.") from problem
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise BadTrajectory(f"{path} is not a text in UTF-8, so it is no trajectory.") from problem
    return read(text, path)


def read(text: str, file: str = "stethoscope.toml") -> Trajectory:
    """The trajectory that a text holds."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise BadTrajectory(f"{file} is not TOML: {str(problem)[0].lower()}{str(problem)[1:]}.") from problem
    except (RecursionError, ValueError) as problem:
        raise BadTrajectory(f"{file} is not TOML that can be read.") from problem
    return _trajectory(_Table(tree, text, file, (), "the file"))


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the file, and where it stands. `number` counts the tables of an array of tables."""

    values: Mapping[str, Any]
    text: str
    file: str
    path: tuple[str, ...]
    kind: str
    number: int = 0

    def problem(self, key: str, what: str) -> BadTrajectory:
        """An error at a key."""
        return BadTrajectory(f"{self.file}:{line_of(self.text, self.path, key, self.number)}: {what}")

    def known(self) -> _Table:
        """This table, all keys of which are known."""
        known = KEYS[self.kind]
        for key in self.values:
            if key not in known:
                near = get_close_matches(key, known, n=1, cutoff=0.0)
                inside = f"of {self.kind}" if self.kind == "the file" else f"in [{self.kind}]"
                raise self.problem(key, f"{key} is no key {inside}; the nearest is {near[0]}.")
        return self

    def get(self, key: str, take: Callable[[Any], Any], wanted: str, otherwise: Any = None) -> Any:
        """The value of a key, or `otherwise`; `take` raises an error for what is not wanted."""
        if key not in self.values:
            return otherwise
        try:
            return take(self.values[key])
        except (ValueError, TypeError, OverflowError):
            shown = repr(self.values[key])
            shown = shown if len(shown) <= 60 else shown[:57] + "..."
            raise self.problem(key, f"{key} is {shown}; give {wanted}.") from None

    def word(self, key: str, words: type[Word], otherwise: Word | None) -> Word | None:
        """One of a few words."""
        wanted = "one of " + ", ".join(f'"{one}"' for one in words)
        found: Word | None = self.get(key, words, wanted, otherwise)
        return found

    def tables(self, key: str) -> Iterator[_Table]:
        """The tables of an array of tables."""
        listed = self.get(key, _listed, "tables, each below a line [[" + key + "]]", ())
        for number, values in enumerate(listed):
            yield _Table(values, self.text, self.file, (*self.path, key), key, number).known()

    def table(self, key: str, known: bool = True) -> _Table:
        """A table inside this one; an empty one where it is not there."""
        values = self.get(key, _mapping, f"a table, below a line [{key}]", {})
        made = _Table(values, self.text, self.file, (*self.path, key), key)
        return made.known() if known else made


def _trajectory(table: _Table) -> Trajectory:
    table.known()
    schema = table.get("schema", _whole, "a whole number")
    if schema != SCHEMA:
        said = "is missing" if schema is None else f"is {schema}"
        raise table.problem("schema", f"schema {said}; this version reads schema = {SCHEMA}.")
    run, look = table.table("run"), table.table("look")
    signals = tuple(_signals(table.table("signal", known=False)))
    return Trajectory(
        run.get("name", _text, "a text", ""),
        run.get("steps", _count, "a whole number of steps"),
        run.get("false_alarms", _share, "a share between 0 and 1", FALSE_ALARMS),
        tuple(_phase(one) for one in table.tables("phase")),
        signals,
        tuple(_sign(one) for one in table.tables("warning")),
        Look(
            look.get("at", _counts, "a list of steps", ()),
            look.get("every", _positive_count, "a whole number of steps"),
        ),
        table.get("unforecast", _mapping, "a table", {}),
        {one.name: line_of(table.text, ("signal", one.name)) for one in signals},
        table.file,
    )


def _signals(table: _Table) -> Iterator[Held]:
    for name, values in table.values.items():
        if not isinstance(values, Mapping):
            raise table.problem(name, f'{name} is no signal; write [signal."{name}"] and its keys below it.')
        yield _held(name, _Table(values, table.text, table.file, (*table.path, name), "signal").known())


def _held(name: str, table: _Table) -> Held:
    held = Held(
        name,
        _rows(table),
        table.word("worse", Side, Side.BOTH) or Side.BOTH,
        table.word("scale", Scale, Scale.LINEAR) or Scale.LINEAR,
        table.get("confidence", _share, "a share between 0 and 1", CONFIDENCE),
        table.get("freedom", _at_least_one, "a number from 1 on"),
        table.get("exact", _switch, "true or false", False),
        table.get("unit", _text, '"step" or "epoch"', "step"),
        table.get("source", _text, "a text", ""),
        table.get("log_this", _text, "a text", ""),
    )
    if held.scale is Scale.LOG:
        for row in held.rows:
            for part in ("low", "expected", "high"):
                if (value := getattr(row, part)) is not None and value <= 0.0:
                    told = f'{part} is {value:g} at step {row.step:,}; scale = "log" needs values above 0.'
                    raise table.problem("bands", told)
    return held


def _rows(table: _Table) -> tuple[Row, ...]:
    listed = table.get(
        "bands", _listed, "a list of { step = ..., low = ..., expected = ..., high = ... }", ()
    )
    if len(listed) > MOST_ROWS:
        raise table.problem("bands", f"bands has {len(listed):,} rows; {MOST_ROWS:,} are the most.")
    inside = [
        _Table(one, table.text, table.file, table.path, "bands", table.number).known() for one in listed
    ]
    rows = sorted((_row(one) for one in inside), key=lambda row: row.step)
    if not rows:
        raise table.problem("bands", "bands is missing or empty; a signal needs at least one row.")
    for before, after in pairwise(rows):
        if before.step == after.step:
            raise table.problem("bands", f"bands names step {after.step:,} twice.")
    return tuple(rows)


def _row(table: _Table) -> Row:
    step = table.get("step", _count, "a whole number of steps")
    if step is None:
        raise table.problem("bands", "a row of bands names no step.")
    sides = [table.get(part, _finite, "a finite number") for part in ("low", "expected", "high")]
    given = [value for value in sides if value is not None]
    if not given:
        raise table.problem("bands", f"the row of step {step:,} has neither low, expected nor high.")
    if given != sorted(given):
        raise table.problem("bands", f"at step {step:,} low, expected and high do not rise.")
    return Row(step, *sides)


def _phase(table: _Table) -> Phase:
    first = table.get("from", _count, "a whole number of steps", 0)
    last = table.get("to", _count, "a whole number of steps", first)
    if last < first:
        raise table.problem("to", f"to is {last:,}, before from, {first:,}.")
    return Phase(table.get("name", _text, "a text", ""), first, last, table.get("why", _text, "a text", ""))


def _sign(table: _Table) -> WarningSign:
    signal, when = table.get("signal", _text, "a signal's name", ""), table.word("when", Condition, None)
    if not signal or when is None:
        lacking = "signal" if not signal else "when"
        raise table.problem("", f"a [[warning]] needs the key {lacking}.")
    value = table.get("value", _finite, "a finite number")
    if when in {Condition.ABOVE, Condition.BELOW} and value is None:
        raise table.problem("when", f'when = "{when}" needs a value.')
    if when is Condition.FALLING and signal != "loss_scale":
        raise table.problem("when", 'when = "falling" is for loss_scale; give other signals a band.')
    return WarningSign(
        signal,
        when,
        value,
        table.get("for", _count, "a whole number of steps", 0),
        table.get("why", _text, "a text", ""),
        table.get("from", _count, "a whole number of steps", 0),
    )


# --- kinds of values


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise ValueError
    return int(value)


def _count(value: Any) -> int:
    if _whole(value) < 0 or value > 1 << 62:
        raise ValueError
    return _whole(value)


def _positive_count(value: Any) -> int:
    if _count(value) == 0:
        raise ValueError
    return _count(value)


def _counts(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(_count(one) for one in value)


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def _share(value: Any) -> float:
    if not 0.0 < _finite(value) < 1.0:
        raise ValueError
    return _finite(value)


def _at_least_one(value: Any) -> float:
    if _finite(value) < 1.0:
        raise ValueError
    return _finite(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _listed(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise TypeError
    return value
