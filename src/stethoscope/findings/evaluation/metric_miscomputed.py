"""A metric computes something else than it is called.

## What it checks
Functions called after PSNR, RMSE, MSE, MAE, Dice, IoU, Jaccard or F1, and lines that give a PSNR its value.
Their formula is tried on numbers: a PSNR falls by 20 dB where the error grows tenfold, a root mean square
grows tenfold and a mean square a hundredfold, and masks that are equal overlap by 1.

## Why it matters
A factor of 20 before the logarithm of a mean square doubles every PSNR; a missing 2 halves every Dice
score. The curve keeps its shape, so that nothing looks wrong until somebody compares with other people's
numbers.

## When it is harmless
A name that says more than the metric (`log_mse`, `dice_loss`, `weighted_psnr`) is not judged, nor is a
formula that needs what only the run knows.

## References
- skimage.metrics.peak_signal_noise_ratio, torchmetrics.image.PeakSignalNoiseRatio
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.tried_metrics import wrong_metrics, wrong_where_assigned
from stethoscope.program.evaluation.validation_hooks import validation_walks
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA201", since="0.3", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each metric that fails its trial."""
    walks = (*evaluations.walks, *validation_walks(evaluations.index, evaluations.settings))
    assigned = (one for walk in walks for one in wrong_where_assigned(walk))
    seen: set[object] = set()
    for one in (*wrong_metrics(evaluations.index), *assigned):
        if one.site.node in seen:
            continue
        seen.add(one.site.node)
        yield Finding(
            one.site.where,
            f"`{one.name}` is not what it is called: {one.does}, and {one.ought}",
            evidence={"metric": one.name, "does": one.does, "ought": one.ought},
        )
