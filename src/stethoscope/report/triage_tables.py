"""A triage for programs and documents: JSON (schema 1), CSV and Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from stethoscope import __version__
from stethoscope.report import triage_words as words
from stethoscope.report.clean_text import one_line
from stethoscope.report.plain_json import plain
from stethoscope.triage import Summary, Triage

SCHEMA = 1
COLUMNS = (
    *("path", "name", "verdict", "cause", "probability", "standing", "symptoms", "first_step", "last_step"),
    *("last_written", "going", "ended", "next", "error", "seconds"),
)
ACTS = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would take for a formula


def as_json(told: Triage, shown: Sequence[Summary]) -> str:
    """One object with every run."""
    report = {
        "schema": SCHEMA,
        "version": __version__,
        "path": told.path,
        "found": len(told.summaries),
        "remembered": told.remembered,
        "runs": [asdict(one) for one in shown],
        "not_looked_into": [{"file": one.file, "reason": one.reason} for one in told.unread],
        "notes": list(told.notes),
    }
    return json.dumps(plain(report), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_csv(shown: Sequence[Summary]) -> str:
    """A row for each run, under the names of COLUMNS."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in shown:
        writer.writerow([_cell(value) for value in _values(one)])
    return stream.getvalue()


def as_markdown(told: Triage, shown: Sequence[Summary]) -> str:
    """A table for an issue or a logbook."""
    lines = [_text(words.counted(told, shown)), ""]
    lines += ["| verdict | run | cause | step | age | state | next |", "|---|---|---|---|---|---|---|"]
    for one in shown:
        step = f"{one.last_step:,}" if one.last_step is not None else ""
        cells = (one.verdict, one.path, words.cause(one), step, words.age(one), words.state(one), one.next)
        lines.append(f"| {' | '.join(_text(cell) for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _values(one: Summary) -> tuple[object, ...]:
    cause = one.cause
    return (
        *(one.path, one.name, one.verdict),
        *((cause.name, cause.probability, cause.standing) if cause else ("", "", "")),
        *(" ".join(one.symptoms), one.first_step, one.last_step, _moment(one.last_written)),
        *(one.going, one.ended, one.next, one.error, one.seconds),
    )


def _moment(written: float | None) -> str:
    if written is None:
        return ""
    try:
        return datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return ""


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return "" if value is None else value
    said = one_line(value)
    return f"'{said}" if said.startswith(ACTS) else said


def _text(said: str) -> str:
    """Text of strangers, which is not to act as Markdown or HTML."""
    return "".join(f"\\{letter}" if letter in "\\`*_<>[]|#" else letter for letter in one_line(said, 300))
