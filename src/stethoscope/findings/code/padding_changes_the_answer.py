"""More padding changes what a network says, though it is told where the padding is.

## What it checks
Networks that take tokens with a mask or lengths and give one answer for each sample are computed on small
arrays, with weights drawn at random: once as they are, and once with two more places of padding, marked as
such. The encoders of transformers are stood for by one layer of attention of the same wiring.

## Why it matters
A mean over all places, or the state at the last one, is a mean over pads and the state behind them. The same
text gets another answer in another batch: training learns the lengths of its neighbours, and what is measured
one by one is not what was trained.

## When it is harmless
Where all texts have one length. Networks that answer for every place are not asked: near the end of a text a
convolution may see the first pads on purpose. A mask of which neither reading can be computed tells nothing.

## References
- transformers, padding and truncation: `attention_mask`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.trials import trials
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD510", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each network that is told of its padding in vain."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for trial in trials(index(sources.program), tree):
        if trial.padding:
            yield Finding(
                trial.forward.where(),
                f"{trial.cls.name}: two more places of padding change its answers, though "
                f"`{trial.padding}` tells where they are",
                evidence={"told by": trial.padding},
                proof="the network was computed with and without them",
            )
