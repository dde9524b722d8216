"""One visit to the clinic: a sick project is trained, diagnosed, treated as prescribed, and compared.

Three runs at most, all from the same seed: sick, with what the diagnosis prescribes, and with the clinic's
own cure. Each is kept in a folder of its own, as its user would find it.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stethoscope.clinic.as_trial import as_trial
from stethoscope.clinic.case import Case, Size
from stethoscope.clinic.edit import copy_files
from stethoscope.diagnose import Diagnosis, diagnose
from stethoscope.errors import StethoscopeError, UnwritableFile
from stethoscope.prescription import Level
from stethoscope.prescription.applying.plan import Plan, Reason, planned
from stethoscope.trials.edits import edited
from stethoscope.trials.running import Job, perform
from stethoscope.trials.trial import Change, Ending, Outcome, Trial

SICK, HEALTHY, CURED, PRESCRIBED = "sick", "healthy", "cured", "as-prescribed"
UNTOUCHED = "untouched"  # the project as it is, which the evaluator is run from
AT_A_TIME = 2
LOOK_SECONDS = 0.2
PATIENCE = 20.0  # times what a run takes on one free core, and it is given up

Told = Callable[[tuple[str, ...]], None]  # called again and again with the runs that are going on


@dataclass(frozen=True, slots=True)
class Patient:
    """One trained project. `home` is the project's folder, `run` what the training left there."""

    name: str
    home: Path
    run: Path
    outcome: Outcome


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """What was seen. `first` is the project as it is: sick, or healthy where the case is benign.

    `prescribed` is None where the diagnosis changes nothing that can be applied. `applied` are the remedies
    that were applied, `shown` those that are shown only, being unproved.
    """

    case: Case
    size: Size
    seed: int
    first: Patient
    diagnosis: Diagnosis
    cured: Patient | None = None
    prescribed: Patient | None = None
    applied: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()

    @property
    def patients(self) -> tuple[Patient, ...]:
        """Every trained project, the one as it is first."""
        return tuple(one for one in (self.first, self.prescribed, self.cured) if one is not None)


def visit(case: Case, size: Size, seed: int, folder: Path, told: Told = lambda running: None) -> Visit:
    """Train a case sick and cured, diagnose the sick run, and train it again as prescribed."""
    trial = as_trial(case, size, folder, (seed,))
    with _begun(case, folder) as stop:
        name = HEALTHY if case.benign else SICK
        arms: dict[str, tuple[Change, ...]] = {name: ()}
        if trial.cure:
            arms[CURED] = trial.cure
        trained = _trained(arms, case, size, trial, stop, told)
        first, cured = trained[name], trained.get(CURED)
        told(("diagnosis",))
        diagnosis = diagnose(first.run, code=first.home)
        # All that `prescribe --write --level unsafe` would write, by the same code.
        plan = planned(diagnosis.prescription.edits, diagnosis.run, Level.UNSAFE, first.home)
        prescribed = None
        if plan.changes:
            files = _mended(plan, first.home)
            arm = {PRESCRIBED: ()}
            prescribed = _trained(arm, case, size, trial, stop, told, files)[PRESCRIBED]
    applied = tuple(dict.fromkeys(edit.remedy for edit in plan.made))
    shown = tuple(dict.fromkeys(one.edit.remedy for one in plan.left_for(Reason.DISPLAY)))
    return Visit(case, size, seed, first, diagnosis, cured, prescribed, applied, shown)


@contextmanager
def _begun(case: Case, folder: Path) -> Iterator[threading.Event]:
    """An empty folder with an untouched copy of the project; whatever runs is ended with the block."""
    stop = threading.Event()
    try:
        for name in (SICK, HEALTHY, CURED, PRESCRIBED, UNTOUCHED):
            if (folder / name).exists():
                shutil.rmtree(folder / name)
        copy_files(case.project, case.sources, folder / UNTOUCHED)
        yield stop
    except OSError as problem:
        raise UnwritableFile(f"{problem.filename or folder}: {problem.strerror or problem}.") from problem
    finally:
        stop.set()
        shutil.rmtree(folder / UNTOUCHED, ignore_errors=True)


def _trained(
    arms: Mapping[str, tuple[Change, ...]],
    case: Case,
    size: Size,
    trial: Trial,
    stop: threading.Event,
    told: Told,
    files: Mapping[str, bytes | None] | None = None,
) -> dict[str, Patient]:
    """Train each arm, two at a time; `files` are written over those of the project."""
    jobs = [_job(name, changes, size, trial, files or {}) for name, changes in arms.items()]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        going: dict[Future[Outcome], str] = {
            pool.submit(perform, job, trial.folder / UNTOUCHED, trial.folder, stop): job.arm for job in jobs
        }
        try:
            while not all(one.done() for one in going):
                told(tuple(name for one, name in going.items() if not one.done()))
                wait(going, LOOK_SECONDS, FIRST_COMPLETED)
        except BaseException:
            stop.set()  # the processes end, and so does the pool
            raise
    return {name: _patient(name, one.result(), case, trial.folder) for one, name in going.items()}


def _job(
    name: str, changes: Iterable[Change], size: Size, trial: Trial, files: Mapping[str, bytes | None]
) -> Job:
    def read(file: str) -> bytes | None:
        path = trial.project / file
        return path.read_bytes() if file in trial.files and path.is_file() else None

    base = edited(read, trial.command, trial.base, ())
    made = edited(read, trial.command, trial.base, changes)
    return Job(
        name,
        trial.seeds[0],
        name,
        made.command,
        trial.metric,
        made.files | dict(files),
        made.variables,
        trial.run,
        trial.evaluate,
        base.files,
        base.variables,
        {"seed": str(trial.seeds[0])},
        seconds=PATIENCE * size.seconds,
        keep=True,
    )


def _patient(name: str, outcome: Outcome, case: Case, folder: Path) -> Patient:
    """A trained project; raises StethoscopeError where it could not be trained at all."""
    if outcome.ending in (Ending.BROKEN, Ending.NOT_RUN, Ending.UNREADABLE):
        said = next((line.strip() for line in reversed(outcome.tail) if line.strip()), "")
        raise StethoscopeError(f"{case.name}, {name}: {outcome.why}. {said}".rstrip())
    shutil.rmtree(folder / name / "frozen", ignore_errors=True)  # the evaluator's copy
    home = folder / name / "project"
    return Patient(name, home, home / case.run, outcome)


def _mended(plan: Plan, home: Path) -> dict[str, bytes | None]:
    """The files that a plan changes, by their paths in the project."""
    root = os.path.realpath(home)
    return {os.path.relpath(one.path, root).replace(os.sep, "/"): one.after for one in plan.changes}
