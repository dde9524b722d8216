"""Validation is done on data that training has seen.

## How it works
The two sets overlap: by a wrong name, a slice too long, or a split that each start draws anew. The score is
that of the training data, and says nothing about new ones.

## How to tell it from its look-alikes
A model that generalises well has a small gap too; only a test on data from elsewhere, or a comparison of the
samples themselves, tells the two apart. Where validation merely measures another quantity, its level is wrong
from the start.

## What cures it
Split once, by a fixed seed and by whatever belongs together, before anything is cut or augmented; keep the
list.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, STRONG, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="Held-out data are among the training data",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "validation-among-training",
            DECISIVE,
            "the source draws both from the same samples",
            when=lambda finding: finding.evidence.get("kind") != "persons",
        ),
        Evidence(
            "validation-among-training",
            STRONG + MODERATE,
            "the same persons are on both sides",
            when=lambda finding: finding.evidence.get("kind") == "persons",
        ),
        Evidence(
            "evaluation-treated-as-training",
            DECISIVE,
            "the evaluation is given the data set of training",
            when=says("same"),
        ),
        Evidence(
            "best-by-training-loss",
            DECISIVE,
            "what is measured is what is trained on",
            when=lambda finding: "data" in finding.evidence,
        ),
        Evidence(
            "folds-share-one-network", DECISIVE, "each fold measures a network that has learned its rows"
        ),
        Evidence("statistics-of-all-rows", DECISIVE, "what is held out has a say in how training data look"),
        Evidence(
            "statistics-of-all-rows", STRONG, "and its answers choose the features", when=says("by answers")
        ),
        Evidence("overfit-gap", -MODERATE, "validation turns away from training, as on data not seen"),
        Evidence(
            "validation-among-training",
            -MODERATE,
            "no overlap was seen in the source",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="compare a hash of every held-out sample with those of the training set",
)
