"""How a program is told to go on from a checkpoint: one file per way, found by folder.

A way is a module with `PRIORITY`, the lower the earlier it is asked, and `find(patient)`, which gives a `Way`
or None. None of them knowing is an answer: then nothing in the source says how it resumes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from stethoscope.discovery import modules_in
from stethoscope.prescription.case import Case
from stethoscope.prescription.remedy import CheckpointAdvice
from stethoscope.prescription.resuming._patient import Patient, Way, patient
from stethoscope.program.loop.roles import Role
from stethoscope.run import Where
from stethoscope.signals.missing import Missing
from stethoscope.signals.resumes import measure as measured_resumes

__all__ = ["Resume", "resume_from"]

PARTS = {
    Role.OPTIMIZER: "optimizer moments",
    Role.SCHEDULER: "schedule position",
    Role.SCALER: "loss scale",
    Role.AVERAGE: "average of the weights",
}
UNKNOWN = (
    "how this program goes on from a checkpoint is not known: no option, setting or call for it was found"
)


@dataclass(frozen=True, slots=True)
class Resume:
    """How to go on from the checkpoint: the command where it is known, and what is lost on the way.

    `first` is what must be changed before; `how` says where all that is known from.
    """

    command: str | None
    first: str
    how: str
    where: tuple[Where, ...] = ()
    loses: tuple[str, ...] = ()


def resume_from(checkpoint: CheckpointAdvice, case: Case) -> Resume:
    """The way to resume from a checkpoint, or that none is known."""
    asked = patient(checkpoint, case)
    loses = _loses(checkpoint, case)
    for module in _ways():
        find: Callable[[Patient], Way | None] = module.find
        way = find(asked)
        if way is not None:
            return Resume(way.command, way.first, way.how, way.where, (*loses, *way.loses))
    return Resume(None, "", UNKNOWN, (), loses)


@cache
def _ways() -> tuple[ModuleType, ...]:
    found = [module for module in modules_in(__name__) if hasattr(module, "find")]
    return tuple(sorted(found, key=lambda module: int(module.PRIORITY)))


def _loses(checkpoint: CheckpointAdvice, case: Case) -> tuple[str, ...]:
    """What the file does not hold, and what the source does not put back."""
    measured = measured_resumes(case.run)
    if isinstance(measured, Missing):
        return checkpoint.loses
    made = _made(case)
    forgotten = [
        f"{name}: the source never loads it"
        for role, name in PARTS.items()
        for resumption in measured.resumptions[:1]
        if role in made and not resumption.restores(role)
    ]
    told = {line.partition(":")[0] for line in forgotten}
    # Where not even an optimizer is spoken of, the training is written elsewhere.
    absent = {name for role, name in PARTS.items() if role not in made and Role.OPTIMIZER in made}
    return (*forgotten, *(line for line in checkpoint.loses if line not in told | absent))


def _made(case: Case) -> frozenset[Role]:
    """The parts that the source has at all, by the words in it."""
    text = "\n".join(source.text.lower() for source in case.run.program or ())
    words = {Role.OPTIMIZER: "optim", Role.SCHEDULER: "sched", Role.SCALER: "scaler", Role.AVERAGE: "ema"}
    return frozenset(role for role, word in words.items() if word in text)
