"""The call that trains, of Lightning or of the Hugging Face Trainer, which takes the checkpoint itself."""

from __future__ import annotations

import ast

from stethoscope.prescription.resuming._patient import Patient, Way
from stethoscope.run import Source

PRIORITY = 40
# The method of a trainer, the argument that takes a checkpoint, and what shows the framework.
CALLS = (
    ("fit", "ckpt_path", ("lightning",)),
    ("train", "resume_from_checkpoint", ("transformers", "trl")),
)


def find(patient: Patient) -> Way | None:
    """The call to give the checkpoint to, or the option where the call has it already."""
    for method, argument, frameworks in CALLS:
        for framework in frameworks:
            for source in patient.sources(framework, f".{method}("):
                way = _in(source, method, argument, patient)
                if way is not None:
                    return way
    return None


def _in(source: Source, method: str, argument: str, patient: Patient) -> Way | None:
    for node in ast.walk(source.tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner = ast.unparse(node.func.value).lower()
        if node.func.attr != method or "trainer" not in owner:
            continue
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        where = (source.where(node),)
        if argument in given and _is_an_argument(given[argument]):
            option = f"--{argument}"
            how = f"{method}() is given what {ast.unparse(given[argument])} holds"
            return Way(patient.command(option, patient.checkpoint.path), how, where)
        change = f"give {argument}={patient.checkpoint.path!r} to {ast.unparse(node.func)}() ({where[0]})"
        return Way(patient.command(), f"no option hands a checkpoint to {method}()", where, change)
    return None


def _is_an_argument(value: ast.expr) -> bool:
    """`training_args.resume_from_checkpoint`: what the trainer's own arguments hold."""
    return isinstance(value, ast.Attribute) and value.attr == "resume_from_checkpoint"
