"""What a tool says about one run: sick or not, and why."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Set
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from stethoscope.clinic.faultbench.task import Task
from stethoscope.diagnose import Diagnosis, diagnose
from stethoscope.errors import StethoscopeError

ALARMED = frozenset({"sick", "at-risk"})
DIGITS = 12  # of a probability: how near it is to 1 tells its log-odds


class Evidence(StrEnum):
    """What is shown to a tool."""

    ALL = "logs, settings and code"
    LOGS = "logs alone"


OR = " or "  # between the causes that a finding of another tool may stand for


def either(causes: Iterable[str]) -> str:
    """Several causes that are named as one."""
    return OR.join(causes)


@dataclass(frozen=True, slots=True)
class Opinion:
    """A verdict, its causes with their probabilities, likeliest first, and the checkpoint to go back to.

    `troubled` says that something above a note was found, whether or not a cause accounts for it.
    """

    verdict: str
    causes: tuple[tuple[str, float], ...] = ()
    onset: int | None = None
    checkpoint: str | None = None
    places: tuple[tuple[str, int], ...] = ()
    findings: tuple[str, ...] = ()
    troubled: bool = False

    @property
    def is_alarm(self) -> bool:
        """Whether somebody would be called: the exit status says so where no cause stands, too."""
        return self.verdict in ALARMED or self.troubled

    def names(self, acceptable: Set[str], first: int) -> bool:
        """Whether one of the first causes is acceptable; of causes that are named as one, any."""
        return any(not acceptable.isdisjoint(cause.split(OR)) for cause, _ in self.causes[:first])


Tool = Callable[[Path, Task, Evidence], Opinion]


def stethoscope(home: Path, task: Task, evidence: Evidence) -> Opinion:
    """What Stethoscope says about the run in a project."""
    try:
        if evidence is Evidence.ALL:
            return _opinion(diagnose(home / task.run, code=home), home)
        with tempfile.TemporaryDirectory() as folder:
            logs = only_logs(home / task.run, Path(folder) / "run")
            return _opinion(diagnose(logs), logs)
    except StethoscopeError:
        return Opinion("unreadable")


def only_logs(run: Path, target: Path) -> Path:
    """The logs of a run in a folder of their own: no settings, no source, no checkpoints."""
    target.mkdir()
    for file in run.rglob("*"):
        is_settings = file.suffix in {".yaml", ".yml", ".toml", ".json", ".py"}
        if file.is_file() and not is_settings and file.suffix not in {".pt", ".pth", ".safetensors", ".ckpt"}:
            (target / file.relative_to(run)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target / file.relative_to(run))
    return target


def _opinion(diagnosis: Diagnosis, home: Path) -> Opinion:
    causes = diagnosis.explanation.causes
    advised = diagnosis.prescription.checkpoint
    places = (where for cause in causes[:3] for where in cause.where)
    shown = tuple((_below(where.file, home), where.line) for where in places if where.line is not None)
    return Opinion(
        diagnosis.verdict.value if isinstance(diagnosis.verdict, StrEnum) else str(diagnosis.verdict),
        tuple((cause.name, round(cause.probability, DIGITS)) for cause in causes),
        causes[0].onset if causes else None,
        _below(advised.path, home) if advised else None,
        shown,
        tuple(sorted({found.rule.name for found in diagnosis.examination.found})),
        bool(diagnosis.explanation.symptoms),
    )


def _below(file: str, home: Path) -> str:
    path = Path(file)
    return str(path.relative_to(home)) if path.is_relative_to(home) else file


def as_json(opinion: Opinion) -> str:
    """One line for a file of opinions."""
    return json.dumps(asdict(opinion))


def from_json(told: dict[str, Any]) -> Opinion:
    """An opinion read back."""
    return Opinion(
        told["verdict"],
        tuple((name, probability) for name, probability in told["causes"]),
        told["onset"],
        told["checkpoint"],
        tuple((file, line) for file, line in told["places"]),
        tuple(told["findings"]),
        told.get("troubled", False),
    )
