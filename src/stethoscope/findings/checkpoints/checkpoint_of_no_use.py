"""A checkpoint that was kept cannot be gone back to.

## What it checks
The checkpoints in the run's folder: whether a file is empty or cut off, and whether all that are left were
written after the loss had become NaN for good.

## Why it matters
A crash while a file is being written in place leaves half of it, in the place of the last good one. A ring of
the last few holds nothing but NaN a few saves after the onset: the run has no past to go back to.

## When it is harmless
An older checkpoint that is whole is enough to go on from. A file that is being written at this moment is
whole a little later.

## References
- torch.save, which writes in place; `os.replace` for a rename in one piece
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.non_finite import Pattern
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.run import Where
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.kept_checkpoints import KeptCheckpoints

RULE = Rule(code="CKP140", since="0.2", severity=Severity.WARNING)

LEAST_BAD = 3  # values of the loss, the last one included


def examine(kept: KeptCheckpoints, every: EverySeries | None) -> Iterator[Finding]:
    """Report files that cannot be loaded, and rings that hold nothing good."""
    whole = len(kept.checkpoints) - len(kept.damaged)
    for one, why in kept.damaged:
        yield Finding(
            Where(one.file),
            f"this checkpoint cannot be loaded: {why}",
            evidence={"kind": "damaged", "file": one.file, "whole": whole},
            proof="the file itself says so",
        )
    onset = _onset(every)
    steps = [one.step for one in kept.checkpoints if one.step is not None]
    if onset is not None and steps and len(steps) == len(kept.checkpoints) and min(steps) >= onset:
        yield Finding(
            tuple(Where(one.file) for one in kept.checkpoints[:3]),
            f"all {len(steps)} checkpoints were written after the loss had become NaN at step {onset}",
            evidence={"kind": "late", "onset": onset, "first": min(steps)},
            onset=onset,
        )


def _onset(every: EverySeries | None) -> int | None:
    """The step from which on the loss is not finite."""
    loss = every.series.get("loss") if every is not None else None
    if loss is None or every is None or every.bad("loss").pattern is not Pattern.PERMANENT:
        return None
    good = np.flatnonzero(np.isfinite(loss.values))
    begins = int(good[-1]) + 1 if len(good) else 0
    return int(loss.steps[begins]) if len(loss) - begins >= LEAST_BAD else None
