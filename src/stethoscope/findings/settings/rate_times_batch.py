"""The learning rate is multiplied by the batch size, and nothing divides it.

## What it checks
Optimizers whose learning rate is computed from one of the settings and a batch size: whether anything in
the product divides, and how high the rate gets. Reported is a product above 0.5 for SGD, and above 0.02 for
the optimizers that bring gradients to one size.

## Why it matters
The linear rule takes the ratio of two batches: the one that is used, and the one that the rate was found
for. Without the second a batch of 64 makes the rate 64 times as high, and the loss leaves within a few
steps.

## When it is harmless
A rate that is given for one sample is meant to be multiplied, and is then small: 4.5e-6 times the batch
stays below what is reported. Optimizers that scale the rate of each layer by its own norm (LARS, LAMB) are
left alone. Where a factor cannot be followed nothing is said.

## References
- Goyal et al., Accurate, Large Minibatch SGD, 2017
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.loop.batched_rates import PLAIN, batched_rates
from stethoscope.run import Where
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="SET187", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

HIGHEST_PLAIN = 0.5  # of SGD: five times what large networks are begun with
HIGHEST_ADAPTIVE = 0.02  # of Adam and its kind: twenty times the rate that they come with


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each rate that a batch size makes far too high."""
    traces = dict.fromkeys(loop.trace for loop in loops)
    if not traces:
        raise InsufficientData("no training loop was found in the source")
    told: set[Where] = set()
    for trace in traces:
        for found in batched_rates(trace):
            highest = HIGHEST_PLAIN if found.optimizer in PLAIN else HIGHEST_ADAPTIVE
            if found.product <= highest or found.site.where in told:
                continue
            told.add(found.site.where)
            yield Finding(
                found.site.where,
                f"the rate {found.rate:g} is multiplied by a batch of {found.batch:g} and divided by none: "
                f"{found.optimizer} gets {found.product:g} or more",
                evidence={"rate": found.rate, "batch": found.batch, "product": found.product},
            )
