"""The gradient of the embedding leaps before, and without, the others.

## What it checks
Gradient norms that were logged by module: whether that of an embedding leaps far above its level at steps
at which the middle of the other modules stays where it was.

## Why it matters
A row of an embedding gets a gradient only when its word occurs. A rare one gets none for thousands of steps
and then all at once, and Adam has forgotten how large it can be. The loss of large language models leaps a
few steps later.

## When it is harmless
Where all modules leap together the batch is at fault and not the embedding. One leap is an accident: it
takes several.

## References
- Zeng et al., GLM-130B, 2022: gradient shrink on the embedding
- BigScience, lessons learned: a norm behind the embedding
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.module_norms import ModuleNorms

RULE = Rule(code="NUM135", since="0.3", severity=Severity.WARNING)

EMBEDDING = re.compile(r"emb|wte|tok_|word")
LEAST_POINTS = 64
LEAST_OTHERS = 2
LEAP = 8.0  # times its level over the last points
STAYS = 2.0  # times theirs
AROUND = 33  # points that make a level
SEVERAL = 3


def examine(norms: ModuleNorms) -> Iterator[Finding]:
    """Fire where the embedding leaps several times and the others do not."""
    embeddings = [name for name in norms.values if EMBEDDING.search(name)]
    others = [name for name in norms.values if name not in embeddings]
    if not embeddings or len(others) < LEAST_OTHERS or len(norms.steps) < LEAST_POINTS:
        raise InsufficientData("gradient norms of an embedding and of other modules were not logged together")
    middle = np.median([_against_level(norms.values[name]) for name in others], axis=0)
    for name in embeddings:
        own = _against_level(norms.values[name])
        alone = np.nonzero((own >= LEAP) & (middle <= STAYS))[0]
        together = int(np.count_nonzero((own >= LEAP) & (middle > STAYS)))
        if len(alone) >= SEVERAL and len(alone) > 2 * together:
            first, last = int(norms.steps[alone[0]]), int(norms.steps[alone[-1]])
            yield Finding(
                norms.series[name].where(first, last),
                f"{name} leaps {len(alone)} times, up to {float(own[alone].max()):.0f} times its level, "
                f"while the {len(others)} other modules stay at theirs",
                evidence={"leaps": len(alone), "together": together},
                onset=first,
            )


def _against_level(values: Values) -> Values:
    """Each value by the median of those before it."""
    padded = np.concatenate((np.full(AROUND, np.median(values[:AROUND])), values[:-1]))
    level = np.median(np.lib.stride_tricks.sliding_window_view(padded, AROUND), axis=1)[-len(values) :]
    return np.asarray(values / np.maximum(level, 1e-30))
