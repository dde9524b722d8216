"""Attention scores are multiplied up, or not scaled at all.

## What it checks
Where the source writes attention out: what the products of queries and keys are multiplied with or divided
by before the softmax. A root of the head's width belongs below the line. Where the source does not tell,
the network is computed as it begins, and its scores are held against the bare products.

## Why it matters
A product over d numbers has a size of about the root of d. Divided by that, scores start near one and the
softmax looks at everything. Multiplied by it instead, they start at d: the softmax picks one place from the
first step on, almost no gradient passes, and scores grow until the loss leaps.

## When it is harmless
T5 and the attention blocks of many image networks do without a scale and start with smaller weights
instead; that is only noted. Normed queries and keys, a learned temperature, a soft cap and cosine attention
bound the scores in another way.

## References
- Vaswani et al., Attention Is All You Need, 2017, 3.2.1
- Wortsman et al., Small-scale proxies for large-scale Transformer training instabilities, 2023
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.experiments.beginnings import Beginning, beginnings
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.weights.attention_scales import Scale
from stethoscope.signals.attention_scales import AttentionScales
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD132", since="0.3", severity=Severity.WARNING, subject=Subject.SOURCE)

MULTIPLIED = 2.0  # a softmax that is sharpened a little is a choice
NARROW = 4  # in fewer numbers queries and keys tell little of their spread


def examine(
    attentions: AttentionScales | None, sources: Sources, settings: Settings | None
) -> Iterator[Finding]:
    """Report scores that are scaled the wrong way, and note those that are not scaled."""
    written = list(_written(attentions)) if attentions is not None else []
    yield from written
    tree = settings_tree(settings.recipe if settings is not None else None)
    begun = beginnings(index(sources.program), tree) if not written else ()
    if attentions is None and not any(beginning.trial.attends for beginning in begun):
        raise InsufficientData("no attention is written out in the source")
    yield from _computed(begun)


def _computed(begun: Sequence[Beginning]) -> Iterator[Finding]:
    """Scores that turn out larger than the products that they come from."""
    for beginning in begun:
        for one in beginning.scores:
            if one.times >= MULTIPLIED and one.width >= NARROW:
                yield Finding(
                    one.spot.source.where(one.spot.node),
                    f"{beginning.trial.cls.name}: what goes into the softmax is {one.times:.3g} times as "
                    "large as the products of queries and keys",
                    evidence={"scale": "up", "times": one.times},
                )


def _written(attentions: AttentionScales) -> Iterator[Finding]:
    for one in attentions:
        if one.scale is Scale.UP and one.factor is not None:
            yield Finding(
                (one.where, one.source.where(one.node)),
                "the products of queries and keys are made larger before the softmax, by "
                f"{ast.unparse(one.factor)}",
                evidence={"scale": str(one.scale)},
            )
        elif one.scale is Scale.NONE:
            yield Finding(
                one.where,
                "the products of queries and keys go into the softmax without a scale",
                evidence={"scale": str(one.scale)},
                strength=0.0,
                severity=Severity.NOTE,
            )
