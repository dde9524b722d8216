"""Attention is computed, and what stands at one place of a sequence reaches no other place.

## What it checks
The networks that the training makes are computed on small arrays. Where attention weighs several things
against each other and every place of the input has an answer of its own, one token is changed: the answer
at some other place has to change.

## Why it matters
Attention runs over the heads or features of one place, or its weights are multiplied with the value of the
place that asks: an `einsum` with one wrong letter, or heads that were not moved before the product. Shapes
fit. The network reads each token by itself and learns what is most frequent behind it.

## When it is harmless
Networks without attention, with more than one input, with a switch that stands at zero, or that cannot be
computed are not judged; neither are those in which any other part carries something between places.

## References
- Vaswani et al., Attention Is All You Need, 2017, 3.2
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.trials import Trial, trials
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD877", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report attention that carries nothing from place to place."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for trial in trials(index(sources.program), tree):
        if _stays_in_place(trial):
            yield Finding(
                (trial.forward.where(),),
                f"{trial.cls.name} attends, and a change in one token changes no answer at another place",
                evidence={"network": trial.cls.name},
            )


def _stays_in_place(trial: Trial) -> bool:
    """Whether tokens go in, are attended to, and reach neither other places nor other samples."""
    return trial.fitting.kinds == ("tokens",) and trial.attends and trial.mixes == (False, False)
