"""A similarity is minimised: one term of the loss has the wrong sign.

## How it works
A term such as SSIM, PSNR, Dice or cosine similarity is largest when prediction and target agree. Added to
the loss as it is, it is driven down: the loss falls while the quality falls with it.

## How to tell it from its look-alikes
Overfitting and a metric that merely disagrees with the loss leave the term itself moving the right way.
Here the logged term and the metric of the same name fall together, and on identical inputs the term is
at its maximum instead of 0.

## What cures it
Return `1 - similarity` (or negate it) where the term is computed.
"""

from __future__ import annotations

from stethoscope.causes.cause import (
    DECISIVE,
    MODERATE,
    OCCASIONAL,
    STRONG,
    WEAK,
    Cause,
    Evidence,
    Outcome,
    says,
)
from stethoscope.findings import Finding


def _costs_too_much(finding: Finding) -> bool:
    """Whether a score falls by more decibels beside adversarial terms than is given up for looks."""
    drop, metric = finding.evidence.get("drop"), str(finding.evidence.get("metric", ""))
    return (
        finding.evidence.get("adversarial_terms") is True
        and "psnr" in metric
        and isinstance(drop, float)
        and drop > 4.0
    )


CAUSE = Cause(
    title="A similarity is minimised: a loss term has the wrong sign",
    prior=OCCASIONAL,
    evidence=(
        Evidence("returns-never-rise", MODERATE, "training earns less and less", when=says("sinks")),
        Evidence("score-ignores-its-loss", MODERATE, "the loss falls and the score gains nothing"),
        Evidence("peak-then-decline", STRONG, "far more is lost than looks ever cost", when=_costs_too_much),
        Evidence(
            "errors-grow-below-zero",
            DECISIVE,
            "what is minimised is negative, and held-out errors grow with it",
        ),
        Evidence(
            "gradients-pile-up",
            MODERATE,
            "the loss sinks below zero without end, and faster and faster",
            when=says("loss_sinks"),
        ),
        Evidence("loss-mirrors-validation", DECISIVE, "training lowers the negative of what is measured"),
        Evidence("score-stays-at-nothing", STRONG, "what is learned is the contrary of what is asked"),
        Evidence("good-actions-made-rarer", DECISIVE, "what an action was worth is minimised"),
        Evidence("ranking-turned-round", DECISIVE, "what should rank first is pushed down"),
        Evidence("quantiles-exchanged", DECISIVE, "the costs of answers above and below are exchanged"),
        Evidence("similarity-minimised", DECISIVE, "the source returns a similarity and minimises it"),
        Evidence("gradient-penalty-is-raised", DECISIVE, "the source minimises the negative of a penalty"),
        Evidence("error-is-raised", DECISIVE, "the source minimises the negative of an error"),
        Evidence("rejected-answer-preferred", DECISIVE, "computed, the loss prefers what was rejected"),
        Evidence("pair-pushed-apart", DECISIVE, "the source pushes matching pairs apart"),
        Evidence(
            "generator-helps-discriminator", DECISIVE, "generator and discriminator are pushed the same way"
        ),
        Evidence(
            "term-falls-with-its-metric",
            STRONG,
            "the logged term falls together with the metric it should raise",
        ),
        Evidence("peak-then-decline", WEAK, "the metric peaks early and declines, as it would"),
        Evidence(
            "similarity-minimised",
            -WEAK,
            "nothing in the source was seen to minimise a similarity",
            outcome=Outcome.CLEAR,
        ),
        Evidence(
            "term-falls-with-its-metric",
            -MODERATE,
            "the logged terms move the right way against their metrics",
            outcome=Outcome.CLEAR,
        ),
        Evidence(
            "non-finite-values",
            STRONG + MODERATE,
            "the loss fell without end, far below zero",
            when=says("downwards"),
        ),
        Evidence(
            "overfit-gap",
            WEAK,
            "held-out data never were better off than before training",
            when=says("never_gained"),
        ),
    ),
    confirm_by="evaluate the term on (x, x) and on (x, noise): a loss must be smaller on (x, x)",
    shows=(
        "divergence",
        "loss-never-falls",
        "below-trivial-baseline",
        "metric-contradicts-its-loss",
        "validation-left-behind",
        "non-finite-values",
    ),
)
