"""The Hugging Face Trainer's trainer_state.json: settings of the run and `log_history`, a list of records.

{"global_step": 900, "max_steps": 1120, "log_history": [
    {"epoch": 0.18, "grad_norm": 1.15, "learning_rate": 8.9e-06, "loss": 1.62, "step": 10},
    {"epoch": 1.78, "eval_loss": 0.98, "eval_runtime": 3.6, "step": 100}, ...]}
"""

from __future__ import annotations

import json
import re

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.disguised_nan import disguised_nan
from stethoscope.logs._reading.head import Head
from stethoscope.logs._tables.json_values import numbers_of, records_from
from stethoscope.logs._tables.table import Table
from stethoscope.run import Aggregation, Event, EventKind, Log

FORMAT = "HF trainer_state.json"

_HISTORY = re.compile(r'"log_history"\s*:\s*\[')
_MAX_STEPS = re.compile(r'"max_steps"\s*:\s*(\d{1,18})\b')
INSTANT = frozenset({"grad_norm", "learning_rate", "epoch"})


def recognise(head: Head) -> float:
    """A JSON object with a log_history."""
    if head.binary or not head.text.lstrip().startswith("{"):
        return 0.0
    if _HISTORY.search(head.ends):
        return 0.95
    return 0.5 if head.path.name == "trainer_state.json" and '"global_step"' in head.ends else 0.0


def read(head: Head) -> Log:
    """The history, whole or as far as the file goes."""
    text = head.whole_text()
    history = _HISTORY.search(text)
    if history is None:
        raise UnreadableFile(f"{head.file}: no log_history in it")
    table, finished_at = Table(), None
    for line, record in records_from(text, history.end() - 1):
        table.add(numbers_of(record), line)
        if "train_runtime" in record:
            finished_at = record.get("step")
    if not table.places:
        raise UnreadableFile(f"{head.file}: an empty log_history")
    found = table.reading(head.file, Aggregation.WINDOW_MEAN, INSTANT)
    total = _MAX_STEPS.search(text)
    return Log(
        head.file,
        FORMAT,
        found.series,
        _finished(head, text, finished_at),
        last_written=head.changed,
        total_steps=int(total[1]) if total and int(total[1]) > 0 else None,
        notes=(*found.notes, *_cut(text), *disguised_nan(found.series)),
    )


def _finished(head: Head, text: str, step: object) -> tuple[Event, ...]:
    at = text.rfind('"train_runtime"')
    if at < 0:
        return ()
    line = text.count("\n", 0, at) + 1
    message = "the Trainer wrote its summary (train_runtime)"
    return (Event(EventKind.FINISHED, message, head.file, line, step if isinstance(step, int) else None),)


def _cut(text: str) -> list[str]:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return ["the file is cut short; what is whole was read"]
    return []
