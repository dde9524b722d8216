"""The truth about one run, kept apart from what is diagnosed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from stethoscope.clinic.faultbench.operator import operators
from stethoscope.clinic.faultbench.specimen import Prepared, Specimen


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that was planted. `onset` is the step at which it begins to act."""

    operator: str
    form: str
    level: int
    cause: str
    acceptable: tuple[str, ...]
    kind: str
    benign: bool
    onset: int
    held_out: bool


@dataclass(frozen=True, slots=True)
class Label:
    """Everything that is known about a run.

    `score` is that of its last weights on data that no run has seen, `checkpoints` the scores of all that
    were kept, by their names. `logged` is the last value that the run itself logged of the same metric: a
    fault of the yardstick shows there alone.
    """

    name: str
    task: str
    seed: int
    faults: tuple[Fault, ...]
    places: tuple[tuple[str, int], ...]
    nuisances: dict[str, str]
    steps: int
    ended: str
    seconds: float
    score: float | None = None
    logged: float | None = None
    checkpoints: dict[str, float | None] = field(default_factory=dict)

    @property
    def planted(self) -> tuple[Fault, ...]:
        """What is really wrong."""
        return tuple(fault for fault in self.faults if not fault.benign)

    @property
    def is_sick(self) -> bool:
        """Whether anything is wrong at all."""
        return bool(self.planted)

    @property
    def cured_by(self) -> tuple[str, ...]:
        """The faults that must go."""
        return tuple(fault.operator for fault in self.planted)

    @property
    def null_fixes(self) -> tuple[str, ...]:
        """Settings that cure nothing."""
        return tuple(self.nuisances)


def label_of(specimen: Specimen, prepared: Prepared, ended: str, seconds: float) -> Label:
    """The label of a run that has ended, without its scores."""
    return Label(
        specimen.name,
        specimen.task.name,
        specimen.seed,
        tuple(_faults(specimen, prepared.steps)),
        prepared.places,
        prepared.nuisances,
        prepared.steps,
        ended,
        round(seconds, 2),
    )


def _faults(specimen: Specimen, steps: int) -> Iterator[Fault]:
    for one in specimen.planted:
        entry = operators()[one.form.operator]
        yield Fault(
            entry.name,
            one.form.name,
            one.level,
            entry.operator.cause,
            tuple(sorted(entry.acceptable)),
            entry.operator.kind,
            entry.operator.benign,
            round(one.form.onset * steps),
            one.form.held_out,
        )


def written(label: Label, file: Path) -> None:
    """Write a label as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(label), indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read_label(file: Path) -> Label:
    """Read a label back."""
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    told["faults"] = tuple(Fault(**{**one, "acceptable": tuple(one["acceptable"])}) for one in told["faults"])
    told["places"] = tuple((file_name, line) for file_name, line in told["places"])
    return Label(**told)
