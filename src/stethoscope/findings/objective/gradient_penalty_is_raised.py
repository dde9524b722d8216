"""A penalty on the size of a gradient is minimised with a minus.

## What it checks
The terms of what is minimised with their signs. One that is the size of a gradient (`torch.autograd.grad`),
or the square of what that is short of one, and that only ever enters with a minus, is reported.

## Why it matters
The penalty is there to keep a critic or a field smooth. With a minus the training makes its gradients as
large as it can: the loss falls without end, and what the other network learns from is noise, soon infinite.

## When it is harmless
A gradient that is a reward on purpose stands beside a network's output in one product; such a term is no
penalty. A term that is met with both signs is not judged.

## References
- Gulrajani et al., Improved Training of Wasserstein GANs, 2017
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.gradient_penalties import raised_penalties
from stethoscope.signals.gradient_penalties import GradientPenalties

RULE = Rule(code="OBJ531", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(penalties: GradientPenalties) -> Iterator[Finding]:
    """Report each penalty that is raised."""
    for one in raised_penalties(penalties.index, penalties.settings):
        yield Finding(
            (one.site.where, one.sink.where),
            "this penalty on a gradient is minimised with a minus, so training makes the gradient larger",
            evidence={"penalty": " ".join(one.site.text.split())[:120]},
        )
