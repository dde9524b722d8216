"""The checkpoint kept as the best is the one that fits the training data best.

## What it checks
Saves under a comparison with the best score so far (`if loss < best`), through flags, early-stopping
objects, callbacks and functions that get them, and Lightning's `ModelCheckpoint(monitor=...)`: whether the
score is made from the training loss although the same loop measures held-out data.

## Why it matters
The training loss keeps falling while the network overfits, and the loss of one batch is mostly luck. The
file called best is then the last or the luckiest one, and every later comparison rests on it.

## When it is harmless
Without any validation there is nothing better to choose by, as by an agent's reward. Stopping or printing by
the training loss keeps no file. A score whose origin could not be followed is not judged, unless its own
name says that it is of training.

## References
- lightning.pytorch.callbacks.ModelCheckpoint
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.edits.held_out_scores import chosen_by_held_out
from stethoscope.program.evaluation.best_in_callbacks import callback_choices
from stethoscope.program.evaluation.choosing import (
    Choosing,
    choosings,
    is_of_training,
    logged_by,
    monitors,
    validating_modules,
    written_monitors,
)
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.evaluation.measured_on_training import measured_on_training
from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.run import Fix, Level, Splice, Where
from stethoscope.signals.editable_files import EditableFiles
from stethoscope.signals.evaluations import Evaluations
from stethoscope.signals.settings import Settings

RULE = Rule(code="EVA103", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(
    evaluations: Evaluations, settings: Settings | None, files: EditableFiles | None
) -> Iterator[Finding]:
    """Report each choice of the best by the training loss."""
    seen: set[ast.AST] = set()
    for walk in evaluations.walks:
        for choosing in choosings(walk):
            if (
                choosing.comparison in seen
                or not _is_by_training(choosing)
                or not _has_validation(walk, choosing)
                or _is_the_other_way(walk, choosing)
            ):
                continue
            seen.add(choosing.comparison)
            yield Finding(
                (
                    choosing.source.where(choosing.comparison),
                    choosing.save.site.where,
                    *(site.where for site, _ in choosing.handed_in),
                ),
                f"what is kept as the best is chosen by `{choosing.text}`, measured on the training data",
                evidence={"compared": ast.unparse(choosing.comparison), "saved_by": choosing.save.site.text},
                fix=_by_held_out(choosing),
            )
    for kept in callback_choices(evaluations.index):
        yield Finding(
            (kept.comparison.where, kept.looked_up.where, kept.save.where),
            f"what is kept as the best is chosen by {kept.name!r}, which is logged in training",
            evidence={"compared": kept.comparison.text, "saved_by": kept.save.text},
        )
    for monitor in monitors(evaluations.index):
        if _is_training_monitor(evaluations.index, monitor.name):
            better = _held_out_name(evaluations.index, monitor.name)
            found = _monitoring(monitor.name, monitor.source.where(monitor.call))
            splice = replaced(monitor.source, monitor.value, f'"{better}"') if better else None
            is_written_here = monitor.value in all_nodes(monitor.call)
            yield replace(found, fix=_fix((splice,)) if splice is not None and is_written_here else None)
    named = (
        frozenset(one.leaf for one in settings.recipe if one.value) if settings is not None else frozenset()
    )
    for same in measured_on_training(evaluations.index, named):
        yield Finding(
            same.site.where,
            f"the best is chosen by what is measured on {same.written}, the data that are trained on",
            evidence={"data": same.written},
        )
    for setting in written_monitors(evaluations.index, settings.recipe) if settings is not None else ():
        if _is_training_monitor(evaluations.index, str(setting.value)):
            better = _held_out_name(evaluations.index, str(setting.value))
            splice = files.splice(setting, better) if files is not None and better else None
            found = _monitoring(str(setting.value), setting.where)
            yield replace(found, fix=_fix((splice,)) if splice is not None else None)


def _switched_on(settings: Settings | None) -> frozenset[str]:
    return (
        frozenset(one.leaf for one in settings.recipe if one.value) if settings is not None else frozenset()
    )


def _monitoring(name: str, where: Where) -> Finding:
    return Finding(
        where,
        f"the checkpoint kept as the best is chosen by {name!r}, which is logged in training",
        evidence={"monitor": name},
    )


def _is_by_training(choosing: Choosing) -> bool:
    if choosing.training or choosing.held_out:
        return choosing.training and not choosing.held_out
    return is_of_training(choosing.text)


def _is_the_other_way(walk: Walk, choosing: Choosing) -> bool:
    """Whether it is what an option asks for in place of a choice by held-out data, in the same question."""
    better = [one.comparison for one in choosings(walk) if not _is_by_training(one)]
    for node in all_nodes(choosing.source.tree, ast.If):
        asked = {id(one) for one in all_nodes(node.test)}
        if any(id(one) in asked for one in better):
            return any(choosing.comparison is one for other in node.orelse for one in all_nodes(other))
    return False


def _has_validation(walk: Walk, choosing: Choosing) -> bool:
    """Whether held-out data are measured in a loop that the save is in."""
    around = {id(scope) for scope in choosing.save.scopes() if scope.kind == "loop"}
    return any(
        id(scope) in around for evaluation in walk.evaluations for scope in evaluation.forward.event.scopes()
    )


def _is_training_monitor(index: Index, name: str) -> bool:
    """Whether a module that also validates logs what is monitored, in training only."""
    validating = tuple(validating_modules(index))
    names = {name, name.removesuffix("_epoch").removesuffix("_step")}
    if not validating or names & logged_by(index.classes, "validation_step"):
        return False
    if names & logged_by(validating, "training_step"):
        return True
    # Another module has nothing better to choose by, where it does not validate.
    return is_of_training(name) and not names & logged_by(index.classes, "training_step")


def _by_held_out(choosing: Choosing) -> Fix | None:
    splices = chosen_by_held_out(choosing)
    return _fix(splices) if splices else None


def _fix(splices: tuple[Splice, ...]) -> Fix:
    return Fix("choose the best by held-out data", Level.UNSAFE, splices)


def _held_out_name(index: Index, name: str) -> str:
    """What validation logs in the place of a name: the only one that ends alike."""
    logged = logged_by(tuple(validating_modules(index)), "validation_step")
    kind = _kind(name.removesuffix("_epoch").removesuffix("_step"))
    alike = [one for one in logged if _kind(one) == kind]
    return alike[0] if len(alike) == 1 else ""


def _kind(name: str) -> str:
    """What a logged name measures: `loss` of `train/loss`."""
    return words(name.replace("/", "_"))[-1]
