"""Weights are taken out of training under a name that nobody reads, and go on being trained.

## What it checks
Loops over weights that give them an attribute like `requires_grad` which is not that, and loops over the
parts of a network that give `requires_grad` to the parts: whether an optimizer is made of these weights.

## Why it matters
Python lets any attribute be set on a tensor or a module, and nothing reads this one. The weights that should
stay as they were taught are trained along, at the rate of what is new, and forget.

## When it is harmless
Weights that no optimizer has do not move either way; this is only noted. A class that gives the name a
meaning, and loops over parts that also switch off their weights, are left alone.

## References
- torch.Tensor.requires_grad
- torch.nn.Module.requires_grad_
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.index import index
from stethoscope.program.loop.misspelt_switches import SWITCH, MisspeltSwitch, misspelt_switches
from stethoscope.run import Fix, Level
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP871", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each switch that switches nothing."""
    yield from map(_finding, misspelt_switches(index(sources.program)))


def _finding(one: MisspeltSwitch) -> Finding:
    owner = ast.unparse(one.written.value)
    why = f"a module has no {SWITCH}" if one.of_network else f"nothing reads {one.written.attr}"
    return Finding(
        one.source.where(one.node),
        f"`{ast.unparse(one.node)}` switches nothing off, as {why}: the weights of {one.network} "
        "stay trainable",
        evidence={"written": one.written.attr, "trained": one.are_trained},
        strength=1.0 if one.are_trained else 0.0,
        severity=None if one.are_trained else Severity.NOTE,
        fix=_fix(one, owner),
    )


def _fix(one: MisspeltSwitch, owner: str) -> Fix | None:
    if one.of_network:
        splice = replaced(one.source, one.node, f"{owner}.{SWITCH}_(False)")
    else:
        splice = replaced(one.source, one.written, f"{owner}.{SWITCH}")
    return (
        Fix(f"Switch the gradients off by {SWITCH}", Level.UNSAFE, (splice,)) if splice is not None else None
    )
