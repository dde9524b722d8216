"""The training array is scaled, and the held-out one beside it is not.

## What it checks
Arrays that a scaler was fitted to and applied to in their place (`x_train = scaler.fit_transform(x_train)`),
that are divided by the peak of bytes or sound, or replaced by their logarithms: whether the array of the same
name for validation or test goes through that scaler, or through anything that may scale it, before it is
used.

## Why it matters
The network has learned numbers around zero and is measured on prices and years. The scores say nothing; it
looks like overfitting from the first epoch on.

## When it is harmless
A `transform` of the held-out array anywhere, arithmetic with its mean and deviation, a pipeline, a function
that prepares it, a part that is cut off the scaled array. Targets that a scaler was given are left alone, as
are logarithms where an exponential follows: answers may be scaled back instead.

## References
- scikit-learn, "Common pitfalls": inconsistent preprocessing
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.unscaled_siblings import unscaled_siblings
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT228", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each held-out array that is used as it was read."""
    for one in unscaled_siblings(index(sources.program)):
        yield Finding(
            (one.used.where, one.scaled.where),
            f"{one.name} is used unscaled, and the training array beside it was scaled:"
            f" `{' '.join(one.scaled.text.split())[:60]}`",
            evidence={"held out": one.name, "scaled": one.scaled.text},
        )
