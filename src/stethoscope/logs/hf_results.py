"""The Hugging Face examples' all_results.json, train_results.json and eval_results.json: final values.

{"epoch": 3.0, "eval_accuracy": 0.86, "eval_loss": 0.41, "eval_runtime": 3.6, "train_loss": 0.52, ...}

One point of each signal says little; where trainer_state.json is there, it says the same and more.
"""

from __future__ import annotations

import re

import numpy as np

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import LAST_STEP
from stethoscope.logs._reading.points import MAX_SERIES, aggregation_of
from stethoscope.logs._tables.json_values import numbers_of, record_in
from stethoscope.run import Aggregation, Log, Series
from stethoscope.run.names import assign, known

FORMAT = "HF results"
SUMMARY = True  # last values only: read where a run has nothing else

LARGEST = 1 << 20  # bytes
_NAME = re.compile(r"(?:all|train|eval|test|predict|validation)_results\.json")
_OWN = re.compile(r"(?:train|eval|test|predict)(?:_\w+)?_(?:runtime|samples_per_second|steps_per_second)")


def recognise(head: Head) -> float:
    """One object with the Trainer's own names for speed, or called as the examples call it."""
    if head.binary or head.prose or head.size > LARGEST or not head.text.lstrip().startswith("{"):
        return 0.0
    record = record_in(head.text)
    if record is None or any(isinstance(value, list | dict) for value in record.values()):
        return 0.0
    own = any(_OWN.fullmatch(name) for name in record)
    signal = any(known(name) for name, _ in numbers_of(record))
    return (
        0.9
        if own and _NAME.fullmatch(head.name)
        else 0.7
        if signal and (own or _NAME.fullmatch(head.name))
        else 0.0
    )


def read(head: Head) -> Log:
    """One point of each signal, at the last epoch."""
    record = record_in(head.whole(LARGEST).decode(head.encoding, errors="replace"))
    values = dict(list(numbers_of(record or {}))[:MAX_SERIES])
    epoch = values.pop("epoch", None)
    if not values:
        raise UnreadableFile(f"{head.file}: results without a number in them")
    counted = epoch is not None and 0 <= epoch < LAST_STEP
    names = assign(dict.fromkeys(values, 1))
    series = tuple(
        Series(
            names[logged],
            logged,
            np.array([round(epoch) if counted and epoch is not None else 0], dtype=np.int64),
            np.array([value], dtype=np.float64),
            head.file,
            # The Trainer's train_loss is the mean over all of training.
            aggregation_of(names[logged], logged, Aggregation.RUNNING_MEAN),
            "epoch" if counted else "row",
        )
        for logged, value in values.items()
    )
    notes = ("last values only: one point of each signal",)
    return Log(head.file, FORMAT, series, last_written=head.changed, notes=notes)
