"""The data set of an evaluation is made with the switch of training on.

## What it checks
Loaders of training and of evaluation whose data sets are of one class with a switch (`train=`, `augment=`):
whether both were given the value that means training, where the class draws crops, mirrors or noise behind
that switch, or picks its samples by it.

## Why it matters
Held-out pictures are then cropped, mirrored and noised anew each time they are looked at: scores are lower
than they should be, and jump between evaluations. Where the switch picks the samples, the scores are those of
the training data, and overfitting cannot be seen.

## When it is harmless
Training data that are measured on purpose, under a name that says so. A switch that nothing depends on is not
meant.

## References
- torch.utils.data.Dataset
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.made_as_training import MadeAsTraining, made_as_training
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA340", since="0.5", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each data set of an evaluation that is told to be one of training."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for made in made_as_training(index(sources.program), tree):
        drawn = (made.drawn.where,) if made.drawn is not None else ()
        yield Finding(
            (made.judged.where, *drawn, made.trained.where),
            _message(made),
            evidence={"switch": made.switch, "same": made.is_same},
        )


def _message(made: MadeAsTraining) -> str:
    if made.is_same:
        return f"this evaluation is given the data of training: `{made.switch}` is alike, and nothing differs"
    drawn = made.drawn.text if made.drawn is not None else "chance"
    return f"the data of this evaluation have `{made.switch}` on, and {drawn} treats them as it does training"
