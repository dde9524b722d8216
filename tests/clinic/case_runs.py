"""Cases of the clinic as tests use them: copied with edits, trained, and judged."""

from __future__ import annotations

import json
from pathlib import Path

from stethoscope.clinic.case import Case, Role
from stethoscope.clinic.edit import Edit, copy_files
from tests.clinic.projects import imported, run


def cure_of(case: Case) -> tuple[Edit, ...]:
    """All cures of a case, one after the other."""
    return tuple(edit for change in case.changes if change.role is Role.CURE for edit in change.edits)


def change_of(case: Case, name: str) -> tuple[Edit, ...]:
    """The edits of one change."""
    (change,) = [change for change in case.changes if change.name == name]
    return change.edits


def copy_case(case: Case, size: str, edits: tuple[Edit, ...], target: Path) -> None:
    """Lay out a case's project in one of its sizes, with edits behind those of the size."""
    (sized,) = [one for one in case.sizes if one.name == size]
    copy_files(case.project, case.sources, target, (*sized.edits, *edits))


def train(case: Case, edits: tuple[Edit, ...], seed: int, folder: Path) -> Path:
    """Train a case in its smallest size and return the run's folder."""
    copy_case(case, "ci", edits, folder)
    run(["bash", "-euo", "pipefail", "-c", case.command.replace("{seed}", str(seed))], folder)
    return folder / case.run


def judge(case: Case, finished: Path, folder: Path) -> dict[str, float]:
    """Score a run with the judge of an untouched copy of the project, inside this process."""
    copy_files(case.project, case.sources, folder)
    with imported(folder, "judge") as (module,):
        scores: dict[str, float] = module.judge(finished)
    return scores


def evaluate(case: Case, finished: Path, folder: Path) -> dict[str, float]:
    """Score a run with the command of the case, as a trial does."""
    copy_files(case.project, case.sources, folder)
    said = run(["bash", "-euo", "pipefail", "-c", case.evaluate.replace("{run}", str(finished))], folder)
    scores: dict[str, float] = json.loads(said.strip().splitlines()[-1])
    return scores
