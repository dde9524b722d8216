"""Gradients flow into the answer that a network should learn.

## What it checks
Targets `reward + gamma * network(next_state)` that are made by the network that learns from them, with
nothing that cuts gradients off; and advantages that weigh log-probabilities while the same loss learns from
their own error, so that they are known to carry gradients.

## Why it matters
An answer that moves is met half-way: the network lowers its loss by dragging the target towards its
prediction, or the worth of an action towards what makes its policy loss small. The loss falls and the values
mean nothing.

## When it is harmless
Residual-gradient methods mean it. A target network that no optimizer holds may have gradients: nobody uses
them.

## References
- Sutton and Barto, Reinforcement Learning: An Introduction, 2018, section 9.3 (semi-gradients)
- Mnih et al., Asynchronous Methods for Deep Reinforcement Learning, 2016
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.bootstraps import learnt_answers
from stethoscope.signals.lowered_worths import LoweredWorths
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ361", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)

WHY = {
    "target": "is an answer that the gradient flows into: `{}` makes it and learns from it",
    "worth": "moves the worth of an action as well as its probability: the loss learns `{}` here, too",
}


def examine(sources: Sources, worths: LoweredWorths | None) -> Iterator[Finding]:
    """Report each answer that carries gradients."""
    told: set[str] = set()
    for one in learnt_answers(index(sources.program)):
        told.add(one.source.file)
        text = " ".join(ast.unparse(one.answer).split())[:80]
        yield Finding(
            (one.source.where(one.answer),),
            f"`{text}` {WHY[one.kind].format(one.shared)}",
            evidence={"kind": one.kind, "shared": one.shared},
        )
    for tried in worths.policies if worths is not None else ():
        if tried.kind == "worth" and tried.sink.source.file not in told:
            text = " ".join(tried.site.text.split())[:80]
            yield Finding(
                (tried.site.where, tried.sink.where),
                f"`{text}` {WHY['worth'].format('the worth')}",
                evidence={"kind": "worth", "shared": text},
            )
