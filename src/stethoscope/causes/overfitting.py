"""The model learns its training data by heart.

## How it works
The training loss keeps falling while the validation loss turns and rises.

## How to tell it from its look-alikes
Where the training loss rises as well it is divergence. Where only a metric falls and the validation loss
does not, loss and metric disagree.

## What cures it
The checkpoint at the minimum; then more data, augmentation, regularisation, or fewer steps.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="Overfitting",
    prior=COMMON,
    evidence=(
        Evidence("loss-creeps-back-up", -STRONG, "the training loss rises as well"),
        Evidence("right-only-in-training", MODERATE, "training is learned by heart"),
        Evidence("overfit-gap", STRONG, "validation gets worse while the training loss keeps falling"),
        Evidence(
            "overfit-gap",
            -MODERATE,
            "nothing was ever learned that holds elsewhere",
            when=says("never_transfers"),
        ),
        Evidence(
            "overfit-gap",
            -DECISIVE,
            "held-out data were worse off than an untrained network before anything was fitted",
            when=says("apart_at_once"),
        ),
        Evidence(
            "validation-gains-nothing",
            -STRONG,
            "fewer answers are right than guesses would be",
            when=says("worse_than_guesses"),
        ),
        Evidence(
            "learned-by-heart",
            STRONG,
            "most of what is learned holds in training alone",
            when=says("of_another_kind", False),
        ),
        Evidence(
            "learned-by-heart",
            -STRONG,
            "much is left to fit, and held-out data never gained",
            when=says("of_another_kind"),
        ),
        Evidence("loss-mirrors-validation", -STRONG, "training raises the very error that is measured"),
        Evidence("term-falls-with-its-metric", -STRONG, "a term of the loss lowers the metric"),
        Evidence("score-stays-at-nothing", -STRONG, "the score never had anything to lose"),
        Evidence(
            "validation-trails-far-behind", -DECISIVE, "held-out data gain to the end, far behind training"
        ),
        Evidence("loss-starts-over", -STRONG, "training itself lost what it had learned"),
        Evidence("held-out-parts-from-training", STRONG, "training and held-out errors part"),
        Evidence(
            "validation-never-follows", -MODERATE, "held-out data gained nothing even before it could turn"
        ),
        Evidence("peak-then-decline", WEAK, "the validation metric turns"),
        Evidence("below-trivial-baseline", -MODERATE, "validation never was better than doing nothing"),
        Evidence("divergence", MODERATE, "the training loss itself does not run away", outcome=Outcome.CLEAR),
        Evidence("divergence", -STRONG, "the training loss runs away too"),
        Evidence(
            "overfit-gap", -MODERATE, "validation does not turn away from training", outcome=Outcome.CLEAR
        ),
        Evidence("validation-resizes", -STRONG, "the validation that declines does not measure the task"),
        Evidence("similarity-minimised", -STRONG, "a term of the loss works against the metric"),
        Evidence("what-was-learned-is-lost", -STRONG, "training itself lost what it had learned"),
        Evidence(
            "overfit-gap",
            -MODERATE,
            "held-out data never were better off than before training",
            when=says("never_gained"),
        ),
        Evidence("non-finite-values", -STRONG, "the run was lost in values that are not finite"),
        Evidence(
            "metric-never-moves", -DECISIVE, "no evaluation differs in any digit", when=says("same_weights")
        ),
        Evidence(
            "overfit-gap", -DECISIVE, "it begins where the training loss leaps up", when=says("after_a_leap")
        ),
        Evidence("untrained-was-better", WEAK, "held-out data lose more and more", when=says("climbs")),
        Evidence(
            "untrained-was-better", -STRONG, "held-out data lost all they lose at once", when=says("at_once")
        ),
        Evidence("errors-grow-below-zero", -DECISIVE, "the loss itself asks for the errors"),
        Evidence("below-trivial-baseline", -MODERATE, "held-out answers were never better than a constant"),
        Evidence("overfit-gap", -STRONG, "held-out answers were guesses throughout", when=says("at_chance")),
        Evidence("held-out-falls-back", -DECISIVE, "held-out scores fall between two evaluations"),
    ),
    confirm_by="evaluate the checkpoint at the validation minimum and the last one on fresh data",
)
