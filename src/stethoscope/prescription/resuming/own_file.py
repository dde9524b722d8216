"""A file that the program reads by itself when it is there: `last.pt`, or what accelerate loads."""

from __future__ import annotations

import ast

from stethoscope.prescription.resuming._patient import Patient, Way
from stethoscope.signals.missing import Missing
from stethoscope.signals.resumes import measure

PRIORITY = 50
LOADS_ALL = "load_state"  # of accelerate's Accelerator: everything that save_state kept
FEWEST, LONGEST = 1, 80  # arguments that name a file; characters of what is quoted


def find(patient: Patient) -> Way | None:
    """The call that reads the checkpoint, where no option or setting names its file."""
    return _by_accelerate(patient) or _by_hand(patient)


def _by_accelerate(patient: Patient) -> Way | None:
    for source in patient.sources("accelerat", f".{LOADS_ALL}("):
        for node in ast.walk(source.tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner = ast.unparse(node.func.value).rpartition(".")[2]
            if node.func.attr == LOADS_ALL and "accelerator" in owner and len(node.args) >= FEWEST:
                read = ast.unparse(node.args[0])[:LONGEST]
                first = f"let {read} be {patient.checkpoint.path} ({source.where(node)})"
                how = "accelerator.load_state() restores everything that save_state() kept"
                return Way(patient.command(), how, (source.where(node),), first)
    return None


def _by_hand(patient: Patient) -> Way | None:
    measured = measure(patient.run)
    if isinstance(measured, Missing) or not measured.resumptions:
        return None
    weights = measured.resumptions[0].weights.site
    first = f"put {patient.checkpoint.path} where `{weights.text[:LONGEST]}` finds it ({weights.where})"
    how = "the source goes on from a file that it looks for by itself"
    return Way(patient.command(), how, (weights.where,), first)
