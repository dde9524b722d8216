"""A JSON document that is an array of records, or holds one under a name such as "history".

[{"step": 0, "loss": 4.2}, {"step": 10, "loss": 3.9}]
{"history": [{"epoch": 1, "train_loss": 0.9}, ...]}
"""

from __future__ import annotations

import re
from itertools import islice

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import Head
from stethoscope.logs._tables.json_values import numbers_of, records_from
from stethoscope.logs._tables.table import Table, looks_like_log
from stethoscope.run import Log

FORMAT = "JSON records"

RECORDS_LOOKED_AT = 20
_ARRAY = re.compile(
    r'^\s*(?:\{.{0,2000}?"\w{0,60}(?:history|logs?|metrics|records|entries|steps|epochs|results|data)"\s*:\s*)?'
    r"(\[)\s*\{",
    re.DOTALL,
)


def recognise(head: Head) -> float:
    """An array of objects with numbers under a training log's names."""
    if head.binary or head.prose:
        return 0.0
    array = _ARRAY.match(head.text)
    if array is None or '"log_history"' in head.ends:
        return 0.0
    records = [record for _, record in islice(records_from(head.text, array.start(1)), RECORDS_LOOKED_AT)]
    counted = [record for record in records if looks_like_log(name for name, _ in numbers_of(record))]
    return 0.7 if len(counted) > 1 and 2 * len(counted) > len(records) else 0.0


def read(head: Head) -> Log:
    """Each name against the name that counts steps."""
    text = head.whole_text()
    array = _ARRAY.match(text)
    table = Table()
    for line, record in records_from(text, array.start(1)) if array else ():
        table.add(numbers_of(record), line)
    if not table.places:
        raise UnreadableFile(f"{head.file}: an array of records without a number in them")
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
