"""A case of the clinic as a trial: its changes as arms, its yardstick as the frozen evaluator."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from stethoscope.clinic.case import Case, Change, Role, Size
from stethoscope.clinic.edit import Edit
from stethoscope.clinic.instructions import instructions
from stethoscope.trials import trial as trials

ALL_CURES = "all-cures"
BASH = ("bash", "-euo", "pipefail", "-c")


def as_trial(
    case: Case, size: Size, folder: Path, seeds: Iterable[int], names: Collection[str] = ()
) -> trials.Trial:
    """Put the changes of a case to the test, or only those with these names.

    The cures are made together and left out one by one; what was advised and what cannot act is made alone.
    Where names are given the cures are not taken apart: together they say how far sick and cured lie apart.
    What has no edits cannot be applied, and is not tried.
    """
    return trials.Trial(
        name=case.name,
        project=case.project,
        command=(*BASH, case.command),
        metric=trials.Metric(
            case.metric.name, case.metric.goal, trials.Reading.LAST, case.metric.unit, case.metric.bar
        ),
        changes=_named(case, names) if names else _every(case),
        folder=folder,
        seeds=tuple(seeds),
        run=case.run,
        evaluate=(*BASH, case.evaluate),
        base=(*_replacements(size.edits), *_surroundings()),
        files=case.sources,
    )


def _every(case: Case) -> tuple[trials.Change, ...]:
    return tuple(_change(change) for change in case.changes if change.edits)


def _named(case: Case, names: Collection[str]) -> tuple[trials.Change, ...]:
    cures = [change for change in _every(case) if change.in_cure]
    edits = tuple(edit for cure in cures for edit in cure.edits)
    together = trials.Change(ALL_CURES, edits, "All cures", in_cure=True)
    asked = (replace(change, in_cure=False) for change in _every(case) if change.name in names)
    return (*([together] if cures else []), *asked)


def _surroundings() -> tuple[trials.Variable, ...]:
    """What makes `python` the interpreter that runs the clinic, and its figures alike on every machine."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    return tuple(trials.Variable(*one) for one in {"PATH": path, **instructions()}.items())


def _change(change: Change) -> trials.Change:
    return trials.Change(
        change.name,
        _replacements(change.edits),
        change.title,
        in_cure=change.role is Role.CURE,
        yardstick=change.yardstick,
    )


def _replacements(edits: Iterable[Edit]) -> tuple[trials.Replacement, ...]:
    return tuple(trials.Replacement(edit.file, edit.old, edit.to) for edit in edits)
