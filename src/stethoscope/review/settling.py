"""The command that would settle a claim: a trial with this one change in it."""

from __future__ import annotations

import os
import re
import shlex

from stethoscope.review.claim import Kind, Ruling
from stethoscope.review.question import Patient, Question
from stethoscope.review.values import shown
from stethoscope.run import Program, Run

_SETTLED = frozenset({Ruling.UNKNOWN_KEY})
_CONFIG_FLAG = re.compile(
    r"""add_argument\(\s*["'](-{1,2}(?:opt|config|cfg|conf|config[-_]file|options)[\w-]*)["']"""
)
_USUAL = ("val/psnr", "val/accuracy", "val/loss", "train/accuracy", "loss")


def settle_by(question: Question, ruling: Ruling) -> str:
    """A `stethoscope trial` command; "" where no trial could say more, or no run was given."""
    patient, kind = question.patient, question.proposal.kind
    if patient is None or ruling in _SETTLED or kind in (Kind.CHECKPOINT, Kind.SERIES):
        return ""
    if kind is Kind.SOURCE:
        return _command(patient, ["--patch", "CHANGE.diff"], _config(patient.run))
    if not question.has_value:
        return ""
    if question.target.known is not None and question.target.known.is_coded:
        return _command(patient, ["--patch", "CHANGE.diff"], "")
    target, config = question.target, _config(patient.run)
    if (
        target.known is not None
        and isinstance(target.known.value, bool)
        and not isinstance(question.value, bool)
    ):
        return ""  # "bf16" for a switch: which keys that takes is not known
    value = shown(question.value)
    is_flag = _is_flag(question)
    edit = f"--{target.leaf}={value}" if is_flag else f"{target.dotted}={value}"
    return _command(patient, ["--edit", edit], "" if is_flag else config)


def _is_flag(question: Question) -> bool:
    """Whether the setting is an option of the command line, and stands in no file of settings."""
    run = question.patient.run if question.patient else None
    known = question.target.known
    if run is None or run.recipe is None or known is None:
        return run is None or run.recipe is None or not _config(run)
    from_file = [
        setting
        for setting in run.recipe.settings
        if setting.dotted == known.dotted and _syntax(run, setting.where.file) not in {"shell", "log"}
    ]
    return not from_file


def _syntax(run: Run, file: str) -> str:
    found = run.recipe.file(file) if run.recipe else None
    return ("log" if found.origin == "log" else found.syntax) if found else ""


def _config(run: Run) -> str:
    files = run.recipe.files if run.recipe else ()
    editable = [f.file for f in files if f.syntax != "shell" and f.origin != "log"]
    maintained = [f.file for f in files if f.maintained and f.file in editable]
    return (maintained or editable or [""])[0]


def _command(patient: Patient, change: list[str], config: str) -> str:
    run = patient.run
    project = run.path if os.path.isdir(run.path) else os.path.dirname(run.path) or "."
    parts = ["stethoscope", "trial", "--project", project]
    parts += ["--config", config] if config else []
    parts += [*change, "--metric", _metric(run), "--", *_training(run, config, project)]
    return " ".join(one if one.startswith("{") else shlex.quote(one) for one in parts)


def _metric(run: Run) -> str:
    named = [name for name in _USUAL if name in run.series]
    measured = sorted(name for name in run.series if name.startswith("val/"))
    return next(iter([*[n for n in named if n.startswith("val/")], *measured, *named]), "METRIC")


def _training(run: Run, config: str, project: str) -> list[str]:
    """How the training is started, as far as the launcher or the source tells."""
    launcher = next((f.file for f in run.recipe.files if f.syntax == "shell"), "") if run.recipe else ""
    if launcher and not config:
        return ["bash", os.path.relpath(launcher, project)]
    script, flag = _entry(run.program) if run.program else ("", "")
    if not script:
        return ["YOUR", "TRAINING", "COMMAND"]
    command = ["python", os.path.relpath(script, project)]
    return [*command, flag, "{config}"] if config and flag else command


def _entry(program: Program) -> tuple[str, str]:
    """The script that trains, and its flag for a settings file."""
    mains = [source for source in program if "__main__" in source.text]
    mains.sort(key=lambda source: ("train" not in os.path.basename(source.file), len(source.file)))
    for source in mains[:1]:
        flag = _CONFIG_FLAG.search(source.text) or next(
            (found for other in program if (found := _CONFIG_FLAG.search(other.text))), None
        )
        return source.file, flag[1] if flag else ""
    return "", ""
