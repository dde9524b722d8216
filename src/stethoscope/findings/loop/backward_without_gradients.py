"""The network runs where no gradients are recorded, and backward is called on its loss.

## What it checks
For each backward pass: whether every network that its loss was computed with ran inside `torch.no_grad()`
or `torch.inference_mode()`, by a `with` or by a decorator of a function around it. And whether a statement
such as `torch.set_grad_enabled(False)` in the validation is still in force in the next epoch.

## Why it matters
There is no graph to go back through. torch raises where nothing else needs a gradient; where something else
does (a weight penalty, a learned temperature), training goes on and the network never learns.

## When it is harmless
A teacher or frozen backbone under `no_grad` whose output feeds a network outside of it. `backward()` itself
under `no_grad` with the loss computed outside works. `torch.enable_grad()` inside switches recording on
again.

## References
- torch.no_grad
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.gradient_switches import left_off
from stethoscope.program.graphs import passes, records
from stethoscope.program.moves import Kind
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP113", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each backward pass whose loss has no graph."""
    for loop in loops:
        for backward in loop.of(Kind.BACKWARD):
            met = passes(loop.trace, backward.subject)
            if met and not any(records(loop.trace, call) for call in met):
                yield Finding(
                    where=(backward.event.site.where, met[0].site.where),
                    message=f"{backward.event.site.text} has no graph to go through: {met[0].site.text} "
                    "runs where gradients are not recorded",
                    evidence={"forward": met[0].site.text, "line of forward": met[0].line},
                    proof="every network in the loss runs under no_grad or inference_mode",
                )
                break
        switch = left_off(loop)
        if switch is not None:
            backward = loop.of(Kind.BACKWARD)[0]
            yield Finding(
                where=(switch.site.where, backward.event.site.where),
                message=f"{switch.site.text} holds on: nothing switches gradients on again before "
                f"{backward.event.site.text} of the next round",
                evidence={"switch": switch.site.text, "backward": backward.event.site.text},
            )
