"""A JSON document of records: an array, or one under a name such as "history", or records by their epoch.

[{"step": 0, "loss": 4.2}, {"step": 10, "loss": 3.9}]
{"history": [{"epoch": 1, "train_loss": 0.9}, ...]}
{"epoch_0": {"train_loss": 0.9, "val_loss": 1.0}, "epoch_1": {...}}     an object of records
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import Head
from stethoscope.logs._tables.json_values import numbers_of, records_by_name, records_from
from stethoscope.logs._tables.table import AXIS_COLUMNS, Table, looks_like_log, spoken
from stethoscope.run import Log

FORMAT = "JSON records"

RECORDS_LOOKED_AT = 20
_ARRAY = re.compile(
    r'^\s*(?:\{.{0,2000}?"\w{0,60}(?:history|logs?|metrics|records|entries|steps|epochs|results|data)"\s*:\s*)?'
    r"(\[)\s*\{",
    re.DOTALL,
)
# The word counts, or the number alone: {"0": {"loss": 0.9}, "1": {"loss": 0.8}}.
_COUNTED = re.compile(
    r"(?:(?P<unit>epochs?|ep|steps?|global_step|iter(?:ation)?s?|it)[\s_:#-]*)?(?P<at>\d{1,15})", re.I
)
_BY_NAME = re.compile(
    r'^\s*(?:\{.{0,2000}?"\w{0,60}(?:history|logs?|metrics|records|entries|steps|epochs|results|data)"\s*:\s*)?'
    r'(\{)\s*"(?:(?:epochs?|ep|steps?|global_step|iter(?:ation)?s?|it)[\s_:#-]*)?\d{1,15}"\s*:\s*\{',
    re.DOTALL | re.IGNORECASE,
)


def recognise(head: Head) -> float:
    """An array of objects with numbers under a training log's names."""
    if head.binary or head.prose:
        return 0.0
    if '"log_history"' in head.ends:
        return 0.0
    records = [record for _, record in islice(_records(head.text), RECORDS_LOOKED_AT)]
    counted = [record for record in records if looks_like_log(name for name, _ in numbers_of(record))]
    return 0.7 if len(counted) > 1 and 2 * len(counted) > len(records) else 0.0


def read(head: Head) -> Log:
    """Each name against the name that counts steps."""
    text = head.whole_text()
    table = Table()
    for line, record in _records(text):
        table.add(numbers_of(record), line)
    if not table.places:
        raise UnreadableFile(f"{head.file}: records without a number in them")
    found = table.reading(head.file)
    whole = text.rstrip().endswith(("]", "}"))
    return Log(
        head.file,
        FORMAT,
        found.series,
        started=found.started,
        last_written=found.last_written or head.changed,
        total_steps=found.total_steps,
        notes=found.notes if whole else (*found.notes, "the file is cut short; what is whole was read"),
    )


def _records(text: str) -> Iterator[tuple[int, dict[str, object]]]:
    """The records of a document, each with its line; one under a counted name is told what was counted."""
    if array := _ARRAY.match(text):
        yield from records_from(text, array.start(1))
    elif by_name := _BY_NAME.match(text):
        for line, name, record in records_by_name(text, by_name.start(1)):
            counted = _COUNTED.fullmatch(name.strip())
            if counted is None:
                continue  # a summary beside the records
            unit = (counted["unit"] or "").lower()
            counter = "epoch" if unit.startswith("ep") else "step"
            # A number alone may be a row of a data frame: what its record counts by itself is better.
            told = {counter: int(counted["at"])} if unit or not _counts(record) else {}
            yield line, told | record


def _counts(record: dict[str, object]) -> bool:
    return any(spoken(name) in AXIS_COLUMNS for name in record)
