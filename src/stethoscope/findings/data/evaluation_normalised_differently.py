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

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.normalisation import Pipeline
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
            )
    for told in transforms.told:
        yield Finding(
            where=(told.judged.where, told.trained.where),
            message=f"evaluation is normalised by other statistics than training: {told.judged.text}",
            evidence={"training": told.trained.text, "evaluation": told.judged.text},
        )


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
