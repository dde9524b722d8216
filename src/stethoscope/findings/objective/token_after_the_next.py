"""The answers of a language model are held to the token after the next.

## What it checks
Cross entropies over tokens in training. All cuts on the way from the sequence to the network's input, to its
answers and to the target are added up, through data sets, collate functions, training loops and networks that
compute their own loss; causal models of transformers move their labels by one themselves. A causal model
that read up to a token should be held to the one behind it.

## Why it matters
Data set and network both move the target. The network then learns to skip a token: the loss falls, to a
level well above what it could reach, and generated text misses every second word.

## When it is harmless
Heads that predict several tokens ahead say so by their names, and stand beside one that predicts the next:
then nothing is said. A sequence that cannot be followed is not judged.

## References
- transformers: `labels` of causal models are shifted inside of the model
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.far_answers import FarAnswers

RULE = Rule(code="OBJ810", since="0.8", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(answers: FarAnswers) -> Iterator[Finding]:
    """Report each cross entropy whose target was moved twice."""
    for one in answers.found:
        yield Finding(
            where=(one.site.where,),
            message=f"the target lies {one.ahead} tokens behind the last one read: it was moved twice",
            evidence={"ahead": one.ahead, "target": one.target},
        )
