"""What one call of the bench measured, in a file: the page in the documentation is written from it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from stethoscope.causes.calibration import TEMPERATURE
from stethoscope.clinic.faultbench import bench
from stethoscope.clinic.faultbench.asking_peers import Asked
from stethoscope.clinic.faultbench.bench import HELD_OUT, Result
from stethoscope.clinic.faultbench.comparing import Compared, compared
from stethoscope.clinic.faultbench.label import Label
from stethoscope.clinic.faultbench.measured import Measured
from stethoscope.clinic.faultbench.opinion import Evidence, Opinion
from stethoscope.clinic.faultbench.scoring import Bin, Figures, Share, reliability
from stethoscope.clinic.faultbench.split import Part, part_of

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Record:
    """Everything that was counted, and what it was counted on.

    `kinds` says how many runs are healthy, only look sick, have one fault or several; `harm_known` in how
    many of the sick ones it was measured whether their faults do harm.
    """

    date: str
    version: str
    kinds: dict[str, int]
    harm_known: int
    temperature: float
    parts: tuple[Result, ...]
    tasks: tuple[Result, ...]
    operators: tuple[Result, ...]
    reliability: dict[str, tuple[Bin, ...]]
    tools: tuple[Compared, ...]
    held_out_tools: tuple[Compared, ...]

    @property
    def runs(self) -> int:
        """How many runs there were."""
        return sum(self.kinds.values())


def record_of(
    labels: Sequence[Label],
    said: dict[Evidence, dict[str, Opinion]],
    asked: Sequence[Asked],
    measured: Measured,
) -> Record:
    """Count everything that the page shows."""
    all_said = said.get(Evidence.ALL, {})
    runs = bench.joined(labels, all_said, measured)
    held = [label for label in labels if part_of(label) is not Part.TUNING]
    by_part = {
        Part.TUNING.value: [run for run in runs if part_of(run.label) is Part.TUNING],
        HELD_OUT: [run for run in runs if part_of(run.label) is not Part.TUNING],
    }
    return Record(
        datetime.now(UTC).date().isoformat(),
        version("stethoscope"),
        dict(Counter(kind_of(label) for label in labels)),
        sum(run.consequential is not None for run in runs),
        TEMPERATURE,
        tuple(one for one in bench.results(labels, said, measured) if one.runs),
        tuple(bench.by_task(labels, all_said, measured)),
        tuple(bench.by_operator(labels, all_said, measured)),
        {name: tuple(reliability(some)) for name, some in by_part.items()},
        tuple(compared(labels, said, asked, measured)),
        tuple(compared(held, said, asked, measured)),
    )


def kind_of(label: Label) -> str:
    """What was planted in a run, in words."""
    if not label.faults:
        return "healthy"
    if not label.is_sick:
        return "only look sick"
    return "one fault" if len(label.planted) == 1 else "several faults"


def write(record: Record, file: Path) -> None:
    """Write a record."""
    told = {"schema": SCHEMA, **asdict(record)}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(_finite(told), indent=1) + "\n", encoding="utf-8")


def read_record(file: Path) -> Record:
    """Read a record back."""
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    del told["schema"]
    for name in ("parts", "tasks", "operators"):
        told[name] = tuple(_result(one) for one in told[name])
    for name in ("tools", "held_out_tools"):
        told[name] = tuple(Compared(**_shares(one)) for one in told[name])
    told["reliability"] = {
        name: tuple(Bin(**one) for one in some) for name, some in told["reliability"].items()
    }
    return Record(**told)


def _result(told: dict[str, Any]) -> Result:
    found = _shares(told["figures"])
    error = found["calibration_error"]
    figures = Figures(**{**found, "calibration_error": math.nan if error is None else error})
    return Result(told["part"], Evidence(told["evidence"]), told["runs"], figures)


def _shares(told: dict[str, Any]) -> dict[str, Any]:
    return {name: Share(**value) if isinstance(value, dict) else value for name, value in told.items()}


def _finite(told: Any) -> Any:
    """The same without numbers that JSON does not have, and not longer than they were measured."""
    if isinstance(told, dict):
        return {name: _finite(value) for name, value in told.items()}
    if isinstance(told, list | tuple):
        return [_finite(value) for value in told]
    if isinstance(told, float):
        return round(told, 5) if math.isfinite(told) else None
    return told
