"""A resize mixes the numbers of classes.

## What it checks
Data sets that read an input and a label for each place of it. Their `__getitem__` is followed on invented
pictures with two classes. Reported is a resize that takes the mean of neighbouring places, where whole
numbers come out that it would not have made had it taken the nearest place.

## Why it matters
Between class 7 and class 26 lies class 16, which nobody drew: every border of the labels becomes a seam of
other classes. The network learns the seams, and scores of thin things suffer most.

## When it is harmless
Masks that are compared with a threshold after the resize have two classes again, and maps of numbers, such as
depth or opacity, may be mixed. PIL takes the nearest place for pictures with a palette, whatever it is
told by default; nothing is said of those.

## References
- torchvision.transforms.InterpolationMode.NEAREST
- cv2.resize, whose default is INTER_LINEAR
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.samples.sample_trials import sample_trials
from stethoscope.program.walk.values import Site
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT521", since="0.8", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each resize that makes classes."""
    for trial in sample_trials(index(sources.program)):
        if trial.mixed is not None:
            site = Site(trial.mixed.source, trial.mixed.node)
            yield Finding(
                (site.where, trial.function.where()),
                f"`{site.text}` takes the mean of neighbouring labels, which are numbers of classes",
                evidence={"resize": site.text},
                proof="labels of two classes come out with others between them",
            )
