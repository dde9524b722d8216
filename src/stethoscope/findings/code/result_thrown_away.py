"""A tensor is computed in a statement of its own, and nobody takes it.

## What it checks
Statements that are nothing but an expression: arithmetic, a method or function that gives a new tensor
(`scores.masked_fill(mask, -inf)`, `torch.where(...)`), and calls of the program's own functions that only
compute. Loops over weights have a rule of their own, and so have layers without influence.

## Why it matters
The line looks as if it did something. `masked_fill` without its underscore leaves the scores unmasked, a
position that is rotated and not assigned stays where it was, and a shift that is added to nothing is not
there. Nothing fails; the network only learns worse, or sees what it must not.

## When it is harmless
The last line of a cell of a notebook is shown. Benchmarks and warm-ups compute to spend time, and a block
that expects an error wants the attempt alone. Functions that check what they are given, print, draw from a
generator or keep something do more than compute. Nothing is said about any of these.

## References
- torch.Tensor.masked_fill, torch.Tensor.masked_fill_
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import Index, index
from stethoscope.program.loop.thrown_results import ThrownResult, thrown_results
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD878", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each statement whose result is lost."""
    known = index(sources.program)
    for thrown in thrown_results(known):
        in_network = _is_in_network(known, thrown)
        yield Finding(
            (thrown.source.where(thrown.statement), thrown.within.where()),
            f"this computes a tensor and keeps nothing: {ast.unparse(thrown.statement)}",
            evidence={
                "mask of network": in_network and thrown.masks,
                "network": in_network and not thrown.masks,
                "samples": not in_network,
            },
        )


def _is_in_network(known: Index, thrown: ThrownResult) -> bool:
    """Whether the statement is part of what a network computes."""
    owner = thrown.within.owner
    return owner is not None and any(base.endswith("Module") for base in known.outside_bases(owner))
