"""Evaluation pictures are normalised by other numbers than training pictures.

## What it checks
Chains of transforms (`Compose`) that are for training and for evaluation by the names around them, in one
file: whether both normalise, and by the same mean and deviation.

## Why it matters
The network sees evaluation pictures shifted and scaled against what it was trained on. Scores are low from
the first evaluation on and follow the data's statistics, not the training.

## When it is harmless
Where either chain has steps that are not written there, or numbers that cannot be read, nothing is said. Two
chains of training differ on purpose; chains in different files, functions or tables may belong to different
data, so each chain for evaluation is held against those for training that stand nearest to it.

## References
- torchvision.transforms.Normalize
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.normalisation import Pipeline
from stethoscope.program.data.told_statistics import ToldApart
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.edits.statements import is_constant
from stethoscope.program.index import dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import span_of
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.normalisation import Transforms

RULE = Rule(code="DAT105", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

ROUNDING = 0.02  # numbers that differ by less were rounded


def examine(transforms: Transforms) -> Iterator[Finding]:
    """Report each evaluation that is normalised differently from its training."""
    for beside, judged in transforms.pairs():
        if judged.known and all(trained.known and _differ(trained, judged) for trained in beside):
            trained = beside[0]
            yield Finding(
                where=(judged.site.where, trained.site.where),
                message=f"evaluation {_said(judged)}, and training {_said(trained)}",
                evidence={"training": trained.numbers, "evaluation": judged.numbers},
                fix=_fix(trained, judged),
            )
    for told in transforms.told:
        yield Finding(
            where=(told.judged.where, told.trained.where),
            message=f"evaluation is {_how(told)}: {told.judged.text}",
            evidence={"training": told.trained.text, "evaluation": told.judged.text},
        )


def _how(told: ToldApart) -> str:
    if told.is_told_nothing:
        return "told no statistics to normalise by, and training is"
    return "normalised by other statistics than training"


def _differ(trained: Pipeline, judged: Pipeline) -> bool:
    if trained.numbers is None or judged.numbers is None:
        return trained.numbers is not judged.numbers
    ours, theirs = (sum(one.numbers or (), ()) for one in (trained, judged))
    return len(ours) != len(theirs) or any(abs(a - b) > ROUNDING for a, b in zip(ours, theirs, strict=True))


def _said(pipeline: Pipeline) -> str:
    if pipeline.numbers is None:
        return "does not normalise"
    mean, deviation = (", ".join(f"{number:g}" for number in part) for part in pipeline.numbers)
    return f"normalises by ({mean}) and ({deviation})"


def _fix(trained: Pipeline, judged: Pipeline) -> Fix | None:
    """The step of training in the place of the other one, or behind the last step where there is none."""
    source = judged.site.source
    ours, theirs = (_steps(one.site.node) for one in (trained, judged))
    if trained.numbers is None or len(ours) != 1 or len(theirs) > 1 or trained.site.source is not source:
        return None
    given = (*ours[0].args, *(word.value for word in ours[0].keywords))
    names = {one.id for value in given for one in all_nodes(value, ast.Name)}
    if not all(is_constant(source, name) for name in names):
        return None
    text = ast.get_source_segment(source.text, ours[0]) or ""
    text = text if text and "\n" not in text else ast.unparse(ours[0])
    splice = replaced(source, theirs[0], text) if theirs else _appended(judged, text)
    title = "normalise as in training"
    return Fix(title, Level.UNSAFE, (splice,)) if splice is not None else None


def _steps(chain: ast.AST) -> list[ast.Call]:
    calls = (one for one in all_nodes(chain, ast.Call))
    return [one for one in calls if (dotted(one.func) or "").rpartition(".")[2] == "Normalize"]


def _appended(judged: Pipeline, text: str) -> Splice | None:
    match judged.site.node:
        case ast.Call(args=[ast.List(elts=[*_, last])]):
            span = span_of(judged.site.source, last)
            return Splice(judged.site.source.file, span[1], span[1], f", {text}") if span else None
    return None
