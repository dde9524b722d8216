"""Positions are told along the samples of a batch and not along the places of a sequence.

## What it checks
The networks that the training makes are computed on small arrays. All samples of the input are made
equal: all answers have to be equal too. A position that is added along the first axis of a batch that
comes first tells samples apart that are the same.

## Why it matters
The network is told in which row of the batch a sample stands, which means nothing, and not in which order
its parts come. It reads a bag of parts, with a constant of its row on top.

## When it is harmless
Sequences that come time first have their positions along the first axis: nothing is said where places
reach each other along that axis, or where the network cannot be computed.

## References
- Vaswani et al., Attention Is All You Need, 2017, 3.5
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.trials import Trial, trials
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD871", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report networks that tell equal samples apart."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for trial in trials(index(sources.program), tree):
        if _tells_samples_apart(trial):
            yield Finding(
                (trial.forward.where(),),
                f"{trial.cls.name} gives equal samples of a batch different answers: their row is told to it",
                evidence={"network": trial.cls.name},
            )


def _tells_samples_apart(trial: Trial) -> bool:
    """Whether equal samples get different answers, and nothing else passes between samples."""
    samples, places = trial.told
    if not samples or trial.mixes[0] is not False:
        return False
    if trial.fitting.kinds[0] == "vector" and len(trial.fitting.kinds) > 1:
        return False  # the rows may be the nodes of a graph, and the other arguments say which are joined
    return places is None or (trial.mixes[1] is True and not places)
