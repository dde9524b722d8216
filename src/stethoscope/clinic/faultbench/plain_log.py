"""The log of a run as the simplest table there is, for tools that read fewer formats than runs are logged in.

The columns have the names that every one of them knows: step, loss, eval_loss, lr, grad_norm. A table has a
row for each step that was logged, or one for each evaluation with the means of what was logged since the
last one: some tools do well with the one, some with the other.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import numpy as np

from stethoscope.run import Run, Series
from stethoscope.run.names import LOWER, better
from stethoscope.signals.grad_norm import GradNorm
from stethoscope.signals.grad_norm import measure as grad_norm_of
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.learning_rate import measure as learning_rate_of
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.loss import measure as loss_of

CSV, TRAINER_STATE = "metrics.csv", "trainer_state.json"
AVERAGED = frozenset({"loss", "grad_norm", "step_time", "throughput"})
KEPT = ("step_time", "data_time", "throughput", "mem")  # names that some of the tools know, too
FEWEST_ROWS = 8  # where a run was evaluated less often, its rows are tenths of it
TENTHS = 10

Column = dict[int, float]
Row = dict[str, float]


class Grain(StrEnum):
    """What one row of a table stands for."""

    STEP = "every step"
    EVALUATION = "every evaluation"


def write_plain(run: Run, folder: Path) -> None:
    """Write the log of a run at each grain: a table, and the same as the HF trainer keeps it."""
    columns = _columns(run)
    for grain in Grain:
        rows = list(_rows(columns) if grain is Grain.STEP else _evaluations(columns))
        target = folder_of(folder, grain)
        target.mkdir(parents=True, exist_ok=True)
        _write_csv(rows, target / CSV)
        _write_trainer_state(rows, target / TRAINER_STATE)


def folder_of(folder: Path, grain: Grain) -> Path:
    """Where the log of one grain lies."""
    return folder / grain.name.lower()


def _columns(run: Run) -> dict[str, Column]:
    """Each quantity by the name that everybody knows, as values by their steps."""
    found: dict[str, Series] = {name: run.series[name] for name in KEPT if name in run.series}
    if isinstance(loss := loss_of(run), TrainLoss):
        found["loss"] = loss.series
    if isinstance(rate := learning_rate_of(run), LearningRate):
        found["lr"] = rate.main
    if isinstance(norm := grad_norm_of(run), GradNorm):
        found["grad_norm"] = norm.series
    for name, series in run.series.items():
        if name.startswith("val/"):
            found[f"eval_{name.removeprefix('val/').replace('/', '_')}"] = series
    columns = {name: dict(series) for name, series in found.items() if len(series)}
    if "eval_loss" not in columns and (error := _error(run)):
        columns["eval_loss"] = error
    return columns


def _error(run: Run) -> Column:
    """What stands for a validation loss that was not logged: another error, or what a score lacks."""
    scores = {name: series for name, series in run.series.items() if name.startswith("val/") and len(series)}
    for name, series in scores.items():
        if better(name) == LOWER:
            return dict(series)
    for name, series in scores.items():
        if "psnr" in name.lower():
            return {step: float(10.0 ** (-value / 10.0)) for step, value in series}
        if "acc" in name.lower():
            whole = 100.0 if np.nanmax(series.values) > 1.0 else 1.0
            return {step: 1.0 - value / whole for step, value in series}
    return {}


def _rows(columns: dict[str, Column]) -> Iterator[Row]:
    for step in sorted({step for column in columns.values() for step in column}):
        row: Row = {"step": step}
        row.update((name, column[step]) for name, column in columns.items() if step in column)
        yield row


def _evaluations(columns: dict[str, Column]) -> Iterator[Row]:
    """One row for each evaluation, or for each tenth of a run that was hardly evaluated."""
    evaluated = {name: column for name, column in columns.items() if name.startswith("eval_")}
    steps = sorted({step for column in columns.values() for step in column})
    ends = sorted({step for column in evaluated.values() for step in column})
    if len(ends) < FEWEST_ROWS:
        ends = [int(part[-1]) for part in np.array_split(steps, TENTHS) if len(part)]
    before = -1
    for end in ends:
        row: Row = {"step": end}
        for name, column in columns.items():
            since = [value for step, value in column.items() if before < step <= end]
            if since:
                row[name] = float(np.mean(since)) if name in AVERAGED else since[-1]
        yield row
        before = end


def _write_csv(rows: list[Row], file: Path) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    with open(file, "w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, names, restval="")
        writer.writeheader()
        writer.writerows({**row, "step": int(row["step"])} for row in rows)


def _write_trainer_state(rows: list[Row], file: Path) -> None:
    """As the HF trainer does: what was evaluated has lines of its own."""
    history = []
    for row in rows:
        step = int(row["step"])
        seen = {name: value for name, value in row.items() if name.startswith("eval_")}
        trained = {_as_hf(name): value for name, value in row.items() if name != "step" and name not in seen}
        history += [{**part, "step": step} for part in (trained, seen) if part]
    last = int(rows[-1]["step"]) if rows else 0
    state = {"global_step": last, "max_steps": last, "log_history": history}
    file.write_text(json.dumps(state), encoding="utf-8")


def _as_hf(name: str) -> str:
    return "learning_rate" if name == "lr" else name
