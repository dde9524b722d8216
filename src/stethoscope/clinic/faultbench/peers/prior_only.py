"""The causes that the bench plants most often, whatever a run shows: what knowing the plan alone reaches."""

from __future__ import annotations

from collections import Counter
from functools import cache

from stethoscope.clinic.faultbench.operator import operators
from stethoscope.clinic.faultbench.opinion import Opinion
from stethoscope.clinic.faultbench.peer import Peer
from stethoscope.clinic.faultbench.split import SEALED, is_held_out
from stethoscope.clinic.faultbench.task import tasks


def guess(run: str) -> Opinion:
    """The same for every run: most runs of the bench are sick, so it calls each of them so."""
    return Opinion("sick", _prior())


@cache
def _prior() -> tuple[tuple[str, float], ...]:
    """Each cause with its share of the forms that are not held out, in which it would be a right answer."""
    planted = [
        operators()[form.operator]
        for task in tasks().values()
        for form in task.forms
        if task.name not in SEALED and not form.held_out and not is_held_out(form.operator)
    ]
    faults = [entry for entry in planted if not entry.operator.benign]
    counts = Counter(cause for entry in faults for cause in entry.acceptable)
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return tuple((cause, count / len(faults)) for cause, count in ranked)


PEER = Peer(guess=guess)
