"""A sample's input and target show different places.

## What it checks
Data sets that read an input and a target for each sample: a photo and its mask, a blurred and a sharp
picture, a small and a large one. Their `__getitem__` is followed on invented pictures that show the same
scene, with chance drawn many times, through functions of PIL, OpenCV, numpy, torch, torchvision and the
program's own. Reported is where some samples come out with both showing the same places, and others do not.

## Why it matters
The network is told to find things where they are not. It learns a blur of all positions, on training data
too, and no rate or architecture helps.

## When it is harmless
A target that is no map of its input cannot be compared, and nothing is said. What a chain of transforms from
another library does is not known either.

## References
- torchvision.transforms.v2, which takes a picture and its mask in one call
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.samples.sample_trials import sample_trials
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT520", since="0.8", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each data set whose samples come apart by chance."""
    for trial in sample_trials(index(sources.program)):
        if trial.apart:
            yield Finding(
                trial.function.where(),
                f"{trial.apart} of {trial.draws} samples of {trial.cls.name} tried have an "
                "input and a target of different places",
                evidence={"apart": trial.apart, "tried": trial.draws},
                proof="both were made of the same scene, and are given back with two different ones",
            )
