"""A network multiplies its gradients by small numbers, layer after layer, and leaves no way around.

## What it checks
The forward of each network with the classes inside it: what sigmoids (a quarter at most) and fixed factors
below one half leave of a gradient between the last weights and the first. Where there is a shortcut, a gate
or a join, the best way counts; a norm makes up for everything before it.

## Why it matters
The first layers get a thousandth of what the last ones get, or nothing that can be told from rounding. The
loss falls to the level of a constant answer and stays there, and no learning rate suits both ends.

## When it is harmless
Up to four sigmoids in a row have been trained for decades. A sigmoid at the output or as a gate, residual
branches that are scaled down, and stacks with norms in between are as they should be.

## References
- Hochreiter, "Untersuchungen zu dynamischen neuronalen Netzen", 1991
- Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.weights.fading_chains import fading_chains
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD410", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)

LITTLE = 1e-3  # five sigmoids in a row
OFTEN = 4  # factors on the way; fewer are a matter of units


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each network that leaves next to nothing of its gradients."""
    for chain in fading_chains(index(sources.program)):
        if chain.left < LITTLE and chain.times >= OFTEN:
            yield Finding(
                chain.places,
                f"{chain.cls.name} makes its gradients smaller layer after layer, with no shortcut and no "
                f"norm: about {chain.left:.1g} of them reach the first one",
                evidence={"times": chain.times, "left": chain.left},
            )
