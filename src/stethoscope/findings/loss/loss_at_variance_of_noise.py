"""A network that predicts noise has a loss of one, which is what predicting nothing costs.

## What it checks
The training loss of a diffusion whose settings say that it predicts the noise (`prediction_type: epsilon`,
`objective: pred_noise`), where nothing weighs the loss: whether from the first quarter on every stretch of it
lies within 1 % of 1.0.

## Why it matters
The noise has a variance of one, so a network whose output has nothing to do with it has a mean squared error
of one, be its output zero. A fall from 1.3 to 1.0 looks like learning and is only the output shrinking.

## When it is harmless
A weighted loss (min-SNR, a weight that is learned, EDM's) may stand at one by design; where the settings name
a weight, or ask for another target, nothing is said. While the rate warms up there is nothing to judge.

## References
- Ho et al., "Denoising Diffusion Probabilistic Models", 2020, on the simplified objective
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Setting
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.settings import Settings
from stethoscope.signals.starting_point import StartingPoint

RULE = Rule(code="LOS161", since="0.2", severity=Severity.WARNING)

LEAST_POINTS = 64
PARTS = 16  # stretches of the curve
FIRST = 4  # of them may still come down
BAND = 0.01
TARGETS = ("prediction_type", "pred_type", "objective", "parameterization", "prediction", "predict", "target")
NOISE = frozenset({"epsilon", "eps", "noise", "pred_noise", "pred_eps", "predict_noise", "pred_epsilon"})
WEIGHTS = ("snr", "p2_loss", "loss_weight", "weighting", "uncertainty", "min_gamma")
OFF = frozenset({"", "0", "0.0", "1", "1.0", "none", "null", "off", "false", "no", "uniform", "constant"})


def examine(
    loss: TrainLoss, settings: Settings, start: StartingPoint, rates: LearningRate | None
) -> Iterator[Finding]:
    """Fire where the loss of a noise prediction stays at one."""
    asked = [setting for setting in settings.recipe.named(*TARGETS) if _is_noise(setting)]
    if not asked:
        raise InsufficientData("the settings do not say that the network predicts noise")
    series = loss.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the loss are too few to see it stay")
    if rates is not None and rates.still_warming_up:
        raise InsufficientData("the learning rate is still warming up where the log ends")
    if len(loss.terms) > 1 or not start.from_scratch or any(map(_weighs, settings)):
        return
    levels = [float(np.mean(part)) for part in np.array_split(series.values, PARTS)][FIRST:]
    if any(abs(level - 1.0) > BAND for level in levels):
        return
    since = int(series.steps[len(series) * FIRST // PARTS])
    yield Finding(
        (series.where(since, int(series.steps[-1])), asked[0].where),
        f"{series.name} stays within 1 % of 1.0 from step {since:,} on, the variance of the noise: "
        f"to predict nothing costs as much ({asked[0].dotted}: {asked[0].value})",
        {"series": series.name, "lowest": min(levels), "highest": max(levels), "target": str(asked[0].value)},
        strength=0.9,
        onset=since,
    )


def _is_noise(setting: Setting) -> bool:
    return str(setting.value).strip().lower() in NOISE


def _weighs(setting: Setting) -> bool:
    named = any(word in setting.dotted.lower() for word in WEIGHTS)
    return named and str(setting.value).strip().lower() not in OFF
