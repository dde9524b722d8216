"""Attention scores grow without end, or attention looks at one place only.

## What it checks
The largest attention scores that were logged: whether they have grown many times over and still grow. And
the entropy of attention: whether it has fallen close to zero.

## Why it matters
A softmax over scores of 50 and more is a choice of one place. It passes hardly any gradient, and what it
does pass leaps with the smallest change of the scores. Losses of large transformers leap or run away soon
after.

## When it is harmless
Scores rise from nothing while heads find their places, by a factor of ten and more, and then rest; some
heads are meant to look at one place. Only growth that has not ended counts, and only up to scores at which
a softmax is closed.

## References
- Zhai et al., Stabilizing Transformer Training by Preventing Attention Entropy Collapse, 2023
- Wortsman et al. 2023; Dehghani et al. 2023 (query and key norm)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.lasting_growth import lasting_growth
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.inner_sizes import InnerSizes, Kind

RULE = Rule(code="NUM132", since="0.3", severity=Severity.WARNING)

CLOSED = 50.0  # the largest score at which nothing but one place counts
TIMES = 4.0
GONE = 0.05  # of the entropy at the start


def examine(sizes: InnerSizes) -> Iterator[Finding]:
    """Fire on scores that grow past what a softmax can use, and on entropy that is gone."""
    scores, entropies = sizes.of(Kind.ATTENTION_SCORE), sizes.of(Kind.ATTENTION_ENTROPY)
    if not scores and not entropies:
        raise InsufficientData(
            "no attention scores were logged", 'log({"attn_logits_max": scores.max().item()})'
        )
    for series in scores:
        growth = lasting_growth(series, TIMES)
        if growth is not None and growth.last >= CLOSED:
            yield Finding(
                series.where(growth.onset, int(series.steps[-1])),
                f"{series.logged_as} has grown from {growth.first:.3g} to {growth.last:.3g} "
                "and has not come to rest",
                evidence={"first": growth.first, "last": growth.last},
                onset=growth.onset,
            )
    for series in entropies:
        part = max(len(series) // 8, 2)
        first, last = float(np.median(series.values[:part])), float(np.median(series.values[-part:]))
        if first > 0.0 and last < GONE * first:
            gone = int(series.steps[int(np.nonzero(series.values < 0.5 * first)[0][0])])
            yield Finding(
                series.where(gone, int(series.steps[-1])),
                f"{series.logged_as} has fallen from {first:.3g} to {last:.3g}: "
                "attention looks at one place only",
                evidence={"first": first, "last": last},
                onset=gone,
            )
