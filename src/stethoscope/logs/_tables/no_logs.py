"""Tables that are no logs of training, though their columns are called as a log's.

epoch,label,loss           examples, each with its class
run,lr,loss                runs, one in each row
precision,recall,support   a classification report
mem,step_time              the machine
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set

import numpy as np
import numpy.typing as npt

from stethoscope.errors import UnreadableFile
from stethoscope.logs._tables.table import AXIS_COLUMNS, Reading, Table, spoken
from stethoscope.run.names import known

HALF = 0.5
FEWEST_LABELS = 3  # rows before a column of words is called labels

Values = npt.NDArray[np.float64]

# What a model said about one example, and what was true of it.
_OF_AN_EXAMPLE = re.compile(
    r"(?:.*[_/])?(?:y_?(?:true|pred|hat|prob)|pred(?:s|icted|ictions?)?|(?:ground_?)?truth|gt|gold|actual"
    r"|true_label|logits?|file_?name|image_?(?:id|path|file)|(?:sample|example)_?id)(?:_(?:label|class|prob))?"
)
_OF_THE_MACHINE = frozenset({"mem", "throughput", "mfu", "runtime", "step_time", "data_time"})

# Columns that say what a row is an example of.
_LABEL = re.compile(
    r"(?:.*[_/])?(?:label|class|category|target|fault|fault_type|bug|bug_type|y|outcome|verdict)s?"
)

_RUN = re.compile(
    r"(?:.*[_/])?(?:run|run_name|run_id|experiment|exp|trial|model|model_name|method|config|name|id)"
)


def refuse_labels(file: str, table: Table, words: Mapping[str, Set[str]]) -> None:
    """A table of examples, each with a label, is no log, though its columns are called as a log's."""
    labels = [name for name in words if _LABEL.fullmatch(spoken(name)) and words[name]]
    columns = table.columns()
    counters = [name for name in columns if spoken(name) in AXIS_COLUMNS]
    runs = [name for name in words if _RUN.fullmatch(spoken(name)) and len(words[name]) > 1]
    if runs and not counters:
        raise UnreadableFile(
            f"{file}: a table of runs, not the log of one: '{runs[0]}' names one in each row"
        )
    if not labels or not counters or table.rows < FEWEST_LABELS:
        return
    if all(_counts_nothing(columns[name][1]) for name in counters):
        raise UnreadableFile(
            f"{file}: a table of labelled examples, not a log: '{counters[0]}' does not count "
            f"its rows and '{labels[0]}' names a class for each"
        )


def refuse_others(file: str, names: Sequence[str], found: Reading) -> None:
    """A table without a counter is a log only where its rows can be steps: not examples, not seconds."""
    if any(series.axis != "row" for series in found.series):
        return
    columns = [spoken(name) for name in names if name]
    about = next((name for name in columns if _OF_AN_EXAMPLE.fullmatch(name)), None)
    if about is not None:
        raise UnreadableFile(
            f"{file}: a table of examples, not a log: nothing counts steps, and '{about}' "
            "belongs to one example"
        )
    if {"precision", "recall", "support"} <= {*columns}:
        raise UnreadableFile(f"{file}: a classification report, with a row for each class")
    named = {series.name.split("/")[0] for series in found.series if known(series.logged_as)}
    if named and named <= _OF_THE_MACHINE:
        raise UnreadableFile(f"{file}: no log of training: it counts no steps and tells of the machine only")


def _counts_nothing(values: Values) -> bool:
    """Whether a column named as a counter holds fractions, one value over and over, or no order at all."""
    steps = np.diff(values)
    if len(steps) == 0:
        return False
    return bool((values != np.floor(values)).mean() > HALF or (steps <= 0).mean() > HALF)
