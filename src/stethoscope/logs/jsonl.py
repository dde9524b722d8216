"""JSON lines: one object per line, as written by most loggers that write JSON.

{"step": 10, "loss": 2.31, "lr": 1e-4}
{"Loss/loss": {"num": 4096, "mean": NaN, "std": NaN}, "Progress/kimg": {"num": 1, "mean": 1.02, "std": 0.0}}
{"current_steps": 10, "total_steps": 6750, "loss": 2.219, "lr": 1.33e-06, "epoch": 0.0044}
{"mode": "val", "epoch": 1, "iter": 30, "bbox_mAP": 0.31}
"""

from __future__ import annotations

from stethoscope.errors import UnreadableFile
from stethoscope.logs._events import Scanner
from stethoscope.logs._head import Head
from stethoscope.logs._json import numbers_of, record_in
from stethoscope.logs._lines import numbered_lines
from stethoscope.logs._table import AXIS_COLUMNS, Table, looks_like_log
from stethoscope.run import Aggregation, Log

FORMAT = "JSON lines"

HALF = 0.5


def recognise(head: Head) -> float:
    """Lines that are JSON objects with numbers under a training log's names."""
    if head.binary or head.prose:
        return 0.0
    lines = [line.strip() for line in head.text.splitlines()[:200] if line.strip()]
    # The last line of the head may be cut by the head's own length.
    objects = [found for line in lines if line.startswith("{") and (found := record_in(line)) is not None]
    if not objects or len(objects) < HALF * (len(lines) - 1):
        return 0.0
    if len(objects) == 1 and not (len(lines) == 1 and head.path.suffix.lower() in {".jsonl", ".ndjson"}):
        return 0.0
    return 0.85 if any(_is_entry(found) for found in objects[:50]) else 0.0


def read(head: Head) -> Log:
    """Each name against the name that counts steps; lines that are no objects are searched for events."""
    table, scanner = Table(), Scanner(head.file)
    bad, last_bad, number = 0, 0, 0
    for number, line in numbered_lines(head):
        text = line.strip()
        if not text:
            continue
        found = record_in(text) if text[0] == "{" else None
        if found is None:
            bad, last_bad = bad + 1, number
            scanner.see(number, line, None)
        else:
            table.add(numbers_of(found))
    if not table.places:
        raise UnreadableFile(f"{head.file}: JSON lines without a number in them")
    found_in = table.reading(head.file, _aggregation(table))
    return Log(
        head.file,
        FORMAT,
        found_in.series,
        scanner.events(),
        started=found_in.started,
        last_written=found_in.last_written or head.changed,
        total_steps=found_in.total_steps,
        notes=(*found_in.notes, *_about(bad, last_bad == number)),
    )


def _is_entry(record: dict[str, object]) -> bool:
    """Whether a record is a log entry: it counts steps or holds a signal, and is not mostly text."""
    numeric = [name for name, _ in numbers_of(record)]
    counts = any(name.lower() in AXIS_COLUMNS for name in numeric)
    return looks_like_log(numeric) and (counts or len(numeric) >= HALF * len(record))


def _aggregation(table: Table) -> Aggregation:
    # StyleGAN and EDM log means over a tick; LLaMA-Factory logs the Trainer's means over its logging steps.
    means = {"Progress/tick", "current_steps"}
    return Aggregation.WINDOW_MEAN if means & table.places.keys() else Aggregation.UNKNOWN


def _about(bad: int, at_the_end: bool) -> list[str]:
    if not bad:
        return []
    if bad == 1 and at_the_end:
        return ["the last line is cut short"]
    return [f"{bad} lines are not JSON objects and were passed over"]
