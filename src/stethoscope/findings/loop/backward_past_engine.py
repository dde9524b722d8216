"""The backward pass goes past the engine that scales the loss.

## What it checks
Programs with an Accelerator (`mixed_precision="fp16"`) or a Fabric (`precision="16-mixed"`) that networks and
optimizers are handed to: whether every backward pass is `loss.backward()`, and none goes through the engine.
In a Lightning module that optimizes by hand under `precision="16-mixed"`, each `loss.backward()`.

## Why it matters
The engine's optimizer divides gradients by a scale that the loss was never multiplied with: they are 65,536
times too small. Gradients that float16 cannot hold vanish before that. The loss hardly moves, and nothing
complains.

## When it is harmless
In bfloat16 or float32 nothing is scaled, and a program that calls `accelerator.backward(loss)` or
`fabric.backward(loss)` anywhere is left alone.

## References
- accelerate.Accelerator.backward, LightningModule.manual_backward, lightning.fabric.Fabric.backward
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.engines_passed_by import passed_by
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP229", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each backward pass that the engine does not see."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in passed_by(index(sources.program), tree):
        yield Finding(
            (one.backward.where, one.engine.where),
            "this backward pass goes past the engine, which divides the gradients by a scale"
            " that this loss never had",
            evidence={"engine": str(one.engine.where)},
        )
