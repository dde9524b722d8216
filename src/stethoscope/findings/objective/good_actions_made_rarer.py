"""A policy gradient has the sign that makes good actions rarer.

## What it checks
Losses that hold a log-probability, or a ratio of probabilities, times an advantage, a return or a reward:
whether that product is minimised as it is, and whether the entropy beside it is. Terms are followed through
names, lists, means and the functions of the program, and computed on numbers: whether it rises with the
likelihood of an action by what the action was worth. The loss of an actor that learns from a critic's answer
to its action is computed: whether it rises with that answer. Beside that, ratios of probabilities that are
turned round (`exp(old - new)`), and losses that take the better of a ratio and the same ratio within bounds.

## Why it matters
An optimizer lowers what it is given. What should be raised has to come with a minus; without it the policy
leaves every action that paid, the return falls to the worst there is, and nothing in the loss tells: it
falls too. An entropy with a plus makes the policy certain of the first thing that it tried.

## When it is harmless
`optimizer(maximize=True)` raises what it is given. Costs and penalties are worth less the higher they are.
Soft actor-critic adds the log-probability by itself, with a temperature, and means it.

## References
- Williams, Simple statistical gradient-following algorithms for connectionist reinforcement learning, 1992
- Schulman et al., Proximal Policy Optimization Algorithms, 2017
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.lowered_rewards import lowered_rewards
from stethoscope.signals.lowered_worths import LoweredWorths
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ225", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)

WHY = {
    "policy": "is minimised as it is: the more an action was worth, the rarer it becomes",
    "ratio": "is the older policy over the one that learns: good actions are made rarer",
    "bounds": "takes the better of the two: nothing keeps the policy near the older one",
    "flat": "holds the likelihood of actions in a way that it does not move with: no action is learned",
    "entropy": "is minimised beside a policy gradient: exploration is taken away",
}


def examine(sources: Sources, worths: LoweredWorths | None) -> Iterator[Finding]:
    """Report each term of a policy gradient with the wrong sign."""
    told: set[tuple[str, str]] = set()
    for one in lowered_rewards(index(sources.program)):
        source, backward = one.backward
        text = " ".join(ast.unparse(one.node).split())[:80]
        told.add((source.file, one.kind))
        where = one.source.where(one.node) if hasattr(one.node, "lineno") else source.where(backward)
        yield Finding(
            (where, source.where(backward)),
            f"`{text}` {WHY[one.kind]}",
            evidence={"kind": one.kind, "term": text},
        )
    for tried in worths.policies if worths is not None else ():
        if tried.kind in WHY and (tried.sink.source.file, tried.kind) not in told:
            text = " ".join(tried.site.text.split())[:80]
            yield Finding(
                (tried.site.where, tried.sink.where),
                f"`{text}` {WHY[tried.kind]}",
                evidence={"kind": tried.kind, "term": text, "cancels": tried.kind == "flat"},
            )
    for worth in worths.found if worths is not None else ():
        text = " ".join(worth.answer.text.split())[:80]
        yield Finding(
            (worth.answer.where, worth.sink.where),
            f"`{text}` is the critic's answer to the actor, and minimised: the actor learns to do the worst",
            evidence={"kind": "worth", "term": text},
        )
