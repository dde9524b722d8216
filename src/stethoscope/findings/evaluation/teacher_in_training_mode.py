"""A finished network gives targets in training mode.

## What it checks
Networks that a training loop runs without gradients and that no optimizer trains: where weights were loaded
into them, they have dropout or batch norm, and nothing ever switches their mode.

## Why it matters
A network is in training mode when it is made. Its dropout makes the targets noisy, and its batch norm
standardises by the batch at hand and moves its statistics with every step: the teacher that was trained
before is not the one that teaches, and becomes another with time.

## When it is harmless
Averages of the network that is trained run in training mode in several methods of self-supervision. What
`from_pretrained` gives is in evaluation mode already.

## References
- torch.nn.Module.eval
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.wakeful_teachers import wakeful_teachers
from stethoscope.program.index import dotted
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA520", since="0.8", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each finished network that is run in training mode."""
    seen: set[ast.AST] = set()
    for walk in evaluations.walks:
        for teacher in wakeful_teachers(walk):
            site = teacher.forward.event.site
            if site.node in seen:
                continue
            seen.add(site.node)
            name = (dotted(site.node.func) if isinstance(site.node, ast.Call) else None) or "the network"
            yield Finding(
                site.where,
                f"{name} is not trained here, and runs in training mode: its dropout or batch norm acts",
                evidence={"forward": site.text},
            )
