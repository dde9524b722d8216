"""Returns are summed up from the first step to the last, so that they tell what came before an action.

## What it checks
Discounted sums that a loop carries along (`R = r + gamma * R`, `gae = delta + gamma * lam * gae`) and keeps
for every step: whether the loop goes through the steps from the first one.

## Why it matters
What an action is worth is what follows it. Summed up from the front, each action is credited with what
happened before it, which it had no part in: the policy learns from chance, and returns stay where they are.

## When it is harmless
A sum over the past is what running scales of rewards and eligibility traces need; functions that are called
so, and lists that are turned round before or afterwards, are left alone.

## References
- Schulman et al., High-Dimensional Continuous Control Using Generalized Advantage Estimation, 2016
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.forward_returns import forward_returns
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ721", since="0.5", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each discounted sum that begins at the first step."""
    for one in forward_returns(index(sources.program)):
        text = " ".join(ast.unparse(one.sum).split())[:80]
        yield Finding(
            (one.source.where(one.sum), one.source.where(one.loop)),
            f"`{text}` goes from the first step to the last: it sums up what came before",
            evidence={"sum": text},
        )
