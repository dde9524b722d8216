"""Biases and norms decay, and the weight matrices do not.

## What it checks
Groups of parameters that are divided by shape or name (`p.ndim >= 2`, `any(nd in name for nd in no_decay)`):
whether the group of the matrices is the one with `weight_decay` 0, while that of biases and norms has one.

## Why it matters
The condition is turned round, and nothing fails. The scales of norms are drawn to zero, which makes layers
quiet one after the other, and the matrices, which the decay was meant for, grow without it.

## When it is harmless
Decay on everything, or on nothing, is a choice. Groups that name single parts of a network, and those whose
condition says nothing of shapes, biases or norms, are left alone.

## References
- Loshchilov and Hutter, Decoupled weight decay regularization, 2019
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.turned_decays import turned_decays
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP700", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each pair of groups whose decays are the wrong way round."""
    for one in turned_decays(index(sources.program)):
        yield Finding(
            (one.source.where(one.spared), one.source.where(one.decayed)),
            "the group of the weight matrices has no decay, and that of biases and norms has one: "
            "the condition that divides them is turned round",
            evidence={"turned": True},
        )
