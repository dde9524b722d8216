"""A small training that faults are put into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np

from stethoscope.clinic.case import Metric

Arrays = Mapping[str, np.ndarray]
Splits = Mapping[str, Arrays]  # "train" and "val"

# --- what is changed ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace `old`, which occurs exactly once in a source file, by `to`."""

    file: str
    old: str
    to: str


@dataclass(frozen=True, slots=True)
class Give:
    """Give a setting another value, written as in the file."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Multiply the value that a setting has in this run."""

    key: str
    factor: float


@dataclass(frozen=True, slots=True)
class Spoil:
    """Change the data that the run is given: `how` takes the arrays of both splits and gives others."""

    how: Callable[[Splits, np.random.Generator], Splits]


@dataclass(frozen=True, slots=True)
class Interrupt:
    """End the process at this share of its steps and start the program again, with these arguments added."""

    at: float
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Disturb:
    """Let something happen inside the process when this share of its steps is made.

    `name` is a function of `disturbances.py`; nothing of it can be seen in the source.
    """

    name: str
    at: float


Change = Replace | Give | Scale | Spoil | Interrupt | Disturb


@dataclass(frozen=True, slots=True)
class Form:
    """One way to put an operator into a task, from mild to severe.

    `name` tells the ways of one operator apart; where three are written differently, one is held out. `onset`
    is the share of the run at which it begins to act.
    """

    operator: str
    levels: tuple[tuple[Change, ...], ...]
    name: str = ""
    onset: float = 0.0
    held_out: bool = False
    needs: tuple[Give, ...] = ()  # nuisances that it cannot do without


# --- what differs from run to run ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choice:
    """A setting that takes one of several values, written as in the file."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """A number that is multiplied by a factor between 1 / `factor` and `factor`."""

    key: str
    factor: float
    whole: bool = False


Nuisance = Choice | Spread


@dataclass(frozen=True, slots=True)
class Task:
    """One training project, healthy as it stands in `project`.

    `script` is run with `arguments` and a seed inside a copy of the project, with `data/train.npz` and
    `data/val.npz` that `data` made. It leaves its run in the folder `run`, with checkpoints that match
    `checkpoints`, in the order of their names. `steps` is the setting that says how many updates it makes.
    `judge` scores the weights of a checkpoint file on data that no run has seen; it is called inside an
    untouched copy of the project. A run without a finite score gets the bar of the metric. `logs` is what a
    run calls the score that it logs of its validation, where that is not the name of the metric.
    """

    name: str
    title: str
    project: Path
    script: str
    settings: str
    run: str
    metric: Metric
    data: Callable[[np.random.Generator], tuple[Arrays, Arrays]]
    judge: Callable[[Path], float]
    nuisances: tuple[Nuisance, ...]
    forms: tuple[Form, ...]
    steps: str
    checkpoints: str = "checkpoints/*.pt"
    arguments: tuple[str, ...] = ()
    processes: int = 1
    logs: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """The files of the project."""
        every = (path for path in sorted(self.project.rglob("*")) if path.is_file())
        return tuple(str(path.relative_to(self.project)) for path in every if path.suffix != ".pyc")


@cache
def tasks() -> dict[str, Task]:
    """Every task by its name: the folders in `tasks/`."""
    names = sorted(file.parent.name for file in (Path(__file__).parent / "tasks").glob("*/task.py"))
    every: list[Task] = [import_module(f"{__package__}.tasks.{name}.task").TASK for name in names]
    return {task.name: task for task in every}


def form_of(task: Task, operator: str, name: str = "") -> Form:
    """The form of an operator in a task."""
    for form in task.forms:
        if (form.operator, form.name) == (operator, name):
            return form
    raise KeyError(f"{task.name} has no form {name!r} of {operator}")
