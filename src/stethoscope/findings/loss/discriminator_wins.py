"""The discriminator is certain, and the generator's loss against it climbs.

## What it checks
In adversarial training: whether the discriminator's loss stays near zero to the end, while the generator's
term against it is high or has risen, or the discriminator's outputs on real and generated samples lie far
apart.

## Why it matters
A discriminator that is always right has a flat answer, and a flat answer has no gradient worth following:
what the generator gets is noise. Its samples stop improving or get worse.

## When it is harmless
Near zero for some time at the start of the game is common and passes; a loss that has come back up by the
end is healthy. Wasserstein critics have losses below zero and no such floor. Where a metric of the
generator still improves, the game goes on, and it is only noted.

## References
- Arjovsky and Bottou, Towards Principled Methods for Training Generative Adversarial Networks, 2017
- Mescheder et al., Which Training Methods for GANs do actually Converge?, 2018
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.adversaries import Adversaries
from stethoscope.signals.validation import Validation

RULE = Rule(code="LOS132", since="0.3", severity=Severity.WARNING)

FEWEST = 16
LAST = 0.25  # of the game: what is judged
CERTAIN = 0.05  # of a loss whose even game costs 0.25 (squares), 0.69 (logistic) or 1 (hinge)
NO_FLOOR = -0.05  # below it the loss is a critic's
LOST = 3.0  # -log D of a generated sample: one in twenty is taken for real
RISEN = 1.5  # times what the term was when the game began
APART = 8.0  # logits between real and generated: the chance of a mistake is one in three thousand


def examine(sides: Adversaries, validation: Validation | None) -> Iterator[Finding]:
    """Fire where the discriminator has been certain to the end and the other side shows it."""
    judge = _in_play(sides.judge)
    if len(judge) < FEWEST:
        raise InsufficientData(f"only {len(judge)} values of the discriminator's loss were logged")
    if float(np.percentile(judge.values, 5)) < NO_FLOOR:
        return
    late = judge.values[-max(round(LAST * len(judge)), 4) :]
    level = float(np.median(late))
    if level > CERTAIN or float(np.percentile(late, 90)) > 3.0 * CERTAIN:
        return
    signs = [said for said in (_of_player(sides), _of_scores(sides)) if said]
    if not signs or (sides.player is not None and not _of_player(sides)):
        return
    onset = _onset(judge)
    improves = _improving(validation, onset)
    yield Finding(
        tuple(one.where(onset, int(one.steps[-1])) for one in (judge, sides.player) if one is not None),
        f"{judge.name} has stayed near zero since step {onset:,} ({level:.2g} at the end), and {signs[0]}"
        + (f"; {improves} still improves" if improves else ""),
        evidence={"level": level, "signs": len(signs), "improves": improves},
        strength=0.0 if improves else 1.0,
        onset=onset,
        severity=Severity.NOTE if improves else None,
    )


def _in_play(judge: Series) -> Series:
    """The loss from where the discriminator begins to learn: zeros before that are no loss."""
    played = np.nonzero(judge.values != 0.0)[0]
    return judge.select(slice(int(played[0]), None)) if len(played) else judge.select(slice(0, 0))


def _of_player(sides: Adversaries) -> str:
    player = sides.player
    if player is None:
        return ""
    values = player.values[player.steps >= int(_in_play(sides.judge).steps[0])]
    values = values[values != 0.0]
    if len(values) < FEWEST:
        return ""
    part = max(len(values) // 5, 3)
    first, last = float(np.median(values[:part])), float(np.median(values[-part:]))
    if last >= LOST:
        return f"{player.name} is {last:.3g}"
    if first > 0.0 and last >= RISEN * first:
        return f"{player.name} rose from {first:.3g} to {last:.3g}"
    return ""


def _of_scores(sides: Adversaries) -> str:
    if sides.real is None or sides.fake is None:
        return ""
    real, fake = (float(np.median(one.values[-max(len(one) // 5, 3) :])) for one in (sides.real, sides.fake))
    return (
        f"its outputs lie {real - fake:.1f} apart"
        if math.isfinite(real - fake) and real - fake >= APART
        else ""
    )


def _onset(judge: Series) -> int:
    """The first step from which on the loss is mostly near zero."""
    high = np.nonzero(judge.values > 3.0 * CERTAIN)[0]
    return int(judge.steps[min(int(high[-1]) + 1, len(judge) - 1)]) if len(high) else int(judge.steps[0])


def _improving(validation: Validation | None, since: int) -> str:
    judged = validation.judged if validation is not None else {}
    return next((name for name, metric in judged.items() if metric.improves_since(since)), "")
