"""Whether a logged learning rate is one that trains a network from random weights, whatever the optimizer."""

from __future__ import annotations

from stethoscope.signals.learning_rate import LearningRate

LOW = 1e-4  # of the highest rate: adaptive optimizers take about this or more, plain descent far more
NONE = 1e-7  # nobody asks for less: what is left of a rate behind the end of its schedule
USUAL = 1e-3  # and with this no optimizer is slow
FAST = 0.02  # no network is trained by an adaptive optimizer at this; plain descent often is
HIGH = 0.3  # and few by plain descent, with large batches


def rate_evidence(rates: LearningRate | None) -> dict[str, object]:
    """What the highest rate says; nothing where none was logged, and neither between the two bounds."""
    if rates is None:
        return {}
    highest = float(rates.main.finite().values.max())
    return {
        "low_rate": 0.0 < highest < LOW,
        "usual_rate": highest >= USUAL,
        "fast_rate": highest >= FAST,
        "high_rate": highest >= HIGH,
        "no_rate": 0.0 < highest < NONE,
    }
