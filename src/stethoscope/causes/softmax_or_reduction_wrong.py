"""The loss is given what it did not ask for: probabilities instead of logits, or means instead of errors.

## How it works
The loss applies its own softmax or sigmoid to values that already went through one. Predictions can never be
certain, gradients shrink, and the loss stays far above zero. Or it averages errors before it takes their
size: those of opposite signs cancel, and the loss is small for predictions that are wrong everywhere. Or the
shapes differ, and broadcasting compares every output with every target.

## How to tell it from its look-alikes
A rate that is too low falls slowly without end; here the loss stops at the bound of a double softmax, or
falls to nothing while the metric stays poor.

## What cures it
Give the loss the logits, and apply softmax or sigmoid only where probabilities are shown. Take the absolute
value or the square of every single error, and average then. Give output and target one shape.
"""

from __future__ import annotations

from stethoscope.causes.cause import (
    DECISIVE,
    MODERATE,
    OCCASIONAL,
    STRONG,
    Cause,
    Evidence,
    Outcome,
    says,
)
from stethoscope.findings import Finding


def _is_of_the_table(finding: Finding) -> bool:
    return finding.evidence.get("kind") not in {"labels", "column"}


CAUSE = Cause(
    title="The loss gets probabilities for logits, averages errors too early, or compares all with all",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "loss-within-one-of-guessing",
            STRONG,
            "and begins exactly at guessing, as it must",
            when=says("exactly"),
        ),
        Evidence(
            "loss-within-one-of-guessing", STRONG, "the loss cannot leave its first value by more than one"
        ),
        Evidence("samples-mixed-in-network", DECISIVE, "the samples of a batch are told of each other"),
        Evidence("gradient-measured-along-channels", DECISIVE, "a gradient is measured for each pixel"),
        Evidence("likelihood-of-another-flow", DECISIVE, "code and volume are not counted alike"),
        Evidence("log-determinant-mistold", DECISIVE, "the change of volume is counted wrongly"),
        Evidence("positions-told-along-batch", DECISIVE, "positions are told along the batch"),
        Evidence("attention-within-places", DECISIVE, "attention carries nothing from place to place"),
        Evidence("places-scrambled-by-reshape", DECISIVE, "a reshape cuts across samples or places"),
        Evidence(
            "weights-summed-along-another-axis",
            DECISIVE,
            "attention sums its weights along the wrong axis",
            when=says("masked", answer=False),
        ),
        Evidence("less-certain-than-right", DECISIVE, "the network is kept from saying how sure it is"),
        Evidence("shapes-broadcast-in-loss", DECISIVE, "every output is compared with every target"),
        Evidence(
            "softmax-before-cross-entropy",
            DECISIVE,
            "the cross entropy gets a softmax",
            when=says("measured", False),
        ),
        Evidence(
            "softmax-before-cross-entropy",
            -MODERATE,
            "the source gives no softmax to its loss",
            outcome=Outcome.CLEAR,
        ),
        Evidence("probabilities-along-another-axis", DECISIVE, "no class competes with another"),
        Evidence("logits-as-log-probabilities", DECISIVE, "the likelihood is taken of plain outputs"),
        Evidence("sigmoid-before-logit-loss", DECISIVE, "the loss on logits gets a sigmoid"),
        Evidence("errors-cancel-in-loss", DECISIVE, "errors cancel in the loss before they are counted"),
        Evidence(
            "divergence-of-another-form", DECISIVE, "the target is told in another form than is expected"
        ),
        Evidence(
            "all-held-against-all",
            DECISIVE,
            "shapes broadcast, and all are held against all",
            when=says("measured", answer=False),
        ),
        Evidence("attention-along-queries", DECISIVE, "attention is normalised along the wrong axis"),
        Evidence(
            "contrast-misread",
            DECISIVE,
            "the table of likenesses is not what the cross entropy expects",
            when=_is_of_the_table,
        ),
        Evidence("overlap-of-raw-outputs", DECISIVE, "an overlap is taken of raw outputs"),
        Evidence("easy-samples-weigh-most", DECISIVE, "what is already right weighs most in the loss"),
        Evidence("loss-on-double-softmax-floor", DECISIVE, "the loss stands on a double softmax's floor"),
        Evidence(
            "validation-below-training",
            MODERATE,
            "the training loss cannot fall as far as the measured one",
            when=says("falls_little"),
        ),
    ),
    confirm_by="print the range of the loss's input: logits leave the interval from 0 to 1",
    shows=("loss-plateau", "loss-never-falls", "below-trivial-baseline", "divergence"),
)
