"""Each evaluation draws other samples, noise or crops, so that its scores cannot be compared.

## What it checks
The evaluations that a training loop makes again and again: whether they draw at random, by no generator and
no seed of their own, which samples they measure or what is added to them. A loader that shuffles and is
left after its first batches is such a draw. A handful of draws is reported, and so is one number that
settles how strong the noise of a batch is or which part of a picture is measured; where the number of draws
is not known, it is noted if the logged validation is as noisy as its whole progress.

## Why it matters
The score moves with the draw and not with the model. The best of many such scores is the luckiest one, and
the checkpoint that is kept for it is any checkpoint.

## When it is harmless
Many draws average out: hundreds of random batches, or noise for every pixel of every picture. A generator
that is seeded anew for each evaluation draws the same every time.

## References
- torch.Generator.manual_seed
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.evaluation.drawn_anew import Draw, draws
from stethoscope.signals.evaluations import Evaluations
from stethoscope.signals.validation import Metric, Validation

RULE = Rule(code="EVA140", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

FEW = 16  # draws: the mean of so many moves by a quarter of their spread from one evaluation to the next
LEAST_EVALUATIONS = 8
DROWNED = 0.35  # of the whole progress: in healthy runs the noise was at most half of that
FELT = 0.02  # of the level


def examine(evaluations: Evaluations, validation: Validation | None) -> Iterator[Finding]:
    """Report draws that decide the score of an evaluation."""
    if not any(walk.evaluations for walk in evaluations.walks):
        raise InsufficientData("no evaluation was found in the source")
    noisy = _noisy(validation)
    for walk in evaluations.walks:
        for draw in draws(walk):
            is_few = bool(draw.decides) or (draw.count is not None and draw.count <= FEW)
            if not is_few and (noisy is None or draw.count is not None):
                continue
            yield Finding(
                (draw.source.where(draw.node), *((noisy.series.where(),) if noisy is not None else ())),
                f"every evaluation draws anew with {draw.name}{_how_many(draw)}{_so_noisy(noisy)}",
                evidence={"draw": draw.name, "count": draw.count},
                # Who trains a diffusion model draws noise in every evaluation, and lives with a noisy score.
                severity=None if is_few else Severity.NOTE,
            )


def _how_many(draw: Draw) -> str:
    if draw.decides:
        return f", which settles {draw.decides}"
    return f", {draw.count} in all" if draw.count is not None else ""


def _so_noisy(metric: Metric | None) -> str:
    return f", and {metric.series.name} moves as much by chance as by training" if metric is not None else ""


def _noisy(validation: Validation | None) -> Metric | None:
    """A metric whose noise is a good part of all that it ever gained."""
    for metric in (validation.judged if validation is not None else {}).values():
        values = metric.series.values
        if len(values) < LEAST_EVALUATIONS:
            continue
        third = len(values) // 3
        progress = abs(float(np.median(values[-third:]) - np.median(values[:third])))
        noise, level = noise_sd(values), abs(float(np.median(values)))
        if noise > FELT * level and noise > DROWNED * progress:
            return metric
    return None
