"""W&B's `wandb-summary.json`: the last value of everything that a run logged.

{"_runtime": 4021.3, "_step": 9999, "_timestamp": 1713176041.2, "loss": 0.31, "_wandb": {"runtime": 4021}}

One point of each signal says little; where the run's history is there, it says the same and more.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.points import MAX_SERIES, aggregation_of, with_lone_loss
from stethoscope.logs._tables.json_values import numbers_of, record_in
from stethoscope.logs._tables.table import AXIS_COLUMNS, EPOCH_COLUMNS, STEP_COLUMNS
from stethoscope.run import Aggregation, Log, Series
from stethoscope.run.names import assign, known

FORMAT = "W&B summary"
SUMMARY = True  # last values only: read where a run has nothing else

NAME = "wandb-summary.json"
LARGEST = 16 << 20  # bytes
ENOUGH_OWN = 2  # of W&B's own names, in a file of another name
_OWN = ("_step", "_runtime", "_timestamp", "_wandb")


def recognise(head: Head) -> float:
    """An object with W&B's own names beside a signal."""
    if head.binary or head.prose or not head.text.lstrip().startswith("{"):
        return 0.0
    record = record_in(head.text)
    if record is None:  # longer than the head
        return 0.9 if head.name == NAME and head.size > len(head.start) else 0.0
    if head.name != NAME and len({*_OWN} & record.keys()) < ENOUGH_OWN:
        return 0.0
    held = [name for name, _ in _signals(record) if name not in _OWN]
    if head.name == NAME:
        return 0.95 if held else 0.0
    return 0.5 if any(known(name) for name in held) else 0.0


def read(head: Head) -> Log:
    """One point of each signal, at the run's last step."""
    record = record_in(head.whole(LARGEST).decode(head.encoding, errors="replace"))
    if record is None:
        raise UnreadableFile(f"{head.file}: not a JSON object")
    series = series_of(record, head.file)
    if not series:
        raise UnreadableFile(f"{head.file}: a W&B summary without a number in it")
    written = record.get("_timestamp")
    return Log(
        head.file,
        FORMAT,
        series,
        last_written=float(written) if isinstance(written, int | float) else head.changed,
        notes=("last values only: one point of each signal",),
    )


def series_of(summary: Mapping[str, object], file: str) -> tuple[Series, ...]:
    """One point of each signal of a summary."""
    signals = _signals(summary)
    step, axis, column = _last_step(dict(signals))
    held = {name: value for name, value in signals if name != column and name not in STEP_COLUMNS}
    names = assign(dict.fromkeys(held, 1))
    return with_lone_loss(
        tuple(
            Series(
                names[logged],
                logged,
                np.array([step], dtype=np.int64),
                np.array([value], dtype=np.float64),
                file,
                aggregation_of(names[logged], logged, Aggregation.UNKNOWN),
                axis,
            )
            for logged, value in held.items()
        )
    )


def _signals(summary: Mapping[str, object]) -> list[tuple[str, float]]:
    """The numbers of a summary by path, without W&B's own and without parts of media."""
    plain = {
        key: value
        for key, value in summary.items()
        if key not in ("_wandb", "_timestamp", "_runtime")
        and not (isinstance(value, Mapping) and "_type" in value)
    }
    return list(numbers_of(plain))[:MAX_SERIES]


def _last_step(values: Mapping[str, float]) -> tuple[int, str, str | None]:
    """The step of the last values, what a step is, and the name that says so."""
    spoken = {name.lower(): name for name in values if name.lower() in AXIS_COLUMNS}
    for wanted in (*STEP_COLUMNS, *EPOCH_COLUMNS):
        if wanted in spoken:
            value = values[spoken[wanted]]
            if np.isfinite(value) and 0 <= value < 2**62:
                return int(value), "epoch" if wanted in EPOCH_COLUMNS else "step", spoken[wanted]
    return 0, "row", None
