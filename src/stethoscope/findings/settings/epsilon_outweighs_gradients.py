"""Adam's epsilon is so large that it, and not the size of gradients, sets the pace.

## What it checks
The epsilon that an optimizer of Adam's kind is made with, beside the learning rate. Gradients of single
weights are mostly between 1e-6 and 1e-2; where the epsilon is far above them, Adam is plain descent with
momentum at a rate of rate / epsilon. The rule fires where the epsilon is at least 0.01 and that rate at most
0.05, or at most 1 in a network with attention.

## Why it matters
A rate that suits Adam is hundreds of times too low for plain descent. Nothing fails: the loss sinks very
slowly or stays where it began, and a higher learning rate seems to be missing.

## When it is harmless
Recipes go from 1e-16 to 1e-3: 1e-8 by default, 1e-6 for language models, 1e-5 and 1.5e-4 for agents, 1e-3
for detectors. A large epsilon with a rate that is as large, 0.1 with a rate of 0.1, is descent with momentum
by intent. RMSprop has recipes with an epsilon of 1 and is not looked at.

## References
- Kingma and Ba, "Adam", 2015
- Choi et al., "On empirical comparisons of optimizers for deep learning", 2019: rate and epsilon belong
  together
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.weights.attending import attends
from stethoscope.signals.optimizer_epsilon import OptimizerEpsilon
from stethoscope.signals.sources import Sources

RULE = Rule(code="SET181", since="0.3", severity=Severity.WARNING, subject=Subject.SETTINGS)

LARGE = 0.01  # ten times the largest in any recipe
SLOW = 0.05  # a rate at which plain descent with momentum still trains most networks
SLOW_ATTENDING = 1.0  # and with which it hardly trains a transformer


def examine(epsilon: OptimizerEpsilon, sources: Sources | None) -> Iterator[Finding]:
    """Fire where the epsilon makes plain descent of Adam, at a rate far too low for it."""
    if epsilon.value < LARGE:
        return
    if epsilon.rate is None:
        raise InsufficientData("the learning rate is not known")
    slow = SLOW_ATTENDING if sources is not None and attends(index(sources.program)) else SLOW
    if 0.0 < epsilon.rate <= slow * epsilon.value:
        yield Finding(
            epsilon.where,
            f"{epsilon.name} is {epsilon.value:g}, far above the size of gradients: Adam divides by it, "
            f"and a rate of {epsilon.rate:g} acts like {epsilon.rate / epsilon.value:.2g} of plain descent",
            evidence={"eps": epsilon.value, "rate": epsilon.rate},
        )
