"""A term of the loss is a sum over the batch, and another one a mean.

## What it checks
The terms that are added up to what is minimised, inside the functions that compute them: whether one is a sum
over everything in the batch (`torch.sum(...)`, `reduction="sum"`) and another a mean over everything, with
weights of the same order.

## Why it matters
A sum over a batch is larger than its mean by as many numbers as it has, often thousands of times. The
optimizer then serves that term alone: in a variational autoencoder the code collapses to its prior, or is not
held to it at all. The balance also moves with the batch size.

## When it is harmless
A sum that is divided by the batch, or has a small weight that makes up for it. Sums over parameters, over a
list of losses or along one axis are not meant. Where a divisor or weight is not known nothing is said.

## References
- Kingma and Welling 2013, Auto-Encoding Variational Bayes: both terms are sums over a sample's numbers
- torch.nn.functional, `reduction`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.mixed_reductions import mixed_reductions
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ228", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each sum that is added to a mean."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for mixed in mixed_reductions(index(sources.program), tree):
        total, mean = mixed.total, mixed.mean
        yield Finding(
            tuple(dict.fromkeys(site.where for site in (total.site, mean.site, mixed.sink))),
            f"`{_short(total.site.text)}` is a sum over the batch, and `{_short(mean.site.text)}`,"
            " which is added to it, a mean",
            evidence={"sum": total.site.text, "mean": mean.site.text, "weight of the sum": total.weight},
        )


def _short(text: str) -> str:
    return " ".join(text.split())[:60]
