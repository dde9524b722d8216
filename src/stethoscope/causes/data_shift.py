"""What is validated, or trained on later, comes from elsewhere.

## How it works
The held-out data, or a new part of the training data, were made in another way: another scanner, another
language, another difficulty. What is learned on the one does not carry over to the other.

## How to tell it from its look-alikes
Validate on a part that is split off the training data: there the gap is gone. Overfitting shows on such a
part too, after a while in which it improves. A different scaling or normalisation is seen in the mean and
spread of the two sets; a restart or a change of the rate has its step in the log.

## What cures it
Draw the validation from where the model will be used and train on such data too; look at each source by
itself.
"""

from __future__ import annotations

from stethoscope.causes.cause import MODERATE, OCCASIONAL, STRONG, WEAK, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="Training and validation data differ",
    prior=OCCASIONAL,
    evidence=(
        Evidence("loss-creeps-back-up", WEAK, "what was learned fits less and less"),
        Evidence("right-only-in-training", MODERATE, "held-out data are of another kind"),
        Evidence(
            "validation-gains-nothing",
            STRONG,
            "what is learned never reaches the held-out data",
            when=says("by_heart", False),
        ),
        Evidence(
            "validation-gains-nothing",
            MODERATE,
            "held-out data gain nothing, of training that is learned by heart",
            when=says("by_heart"),
        ),
        Evidence(
            "validation-gains-nothing",
            -MODERATE,
            "fewer answers are right than guesses would be",
            when=says("worse_than_guesses"),
        ),
        Evidence(
            "overfit-gap",
            STRONG,
            "held-out data lose from the first evaluation on",
            when=says("apart_at_once"),
        ),
        Evidence(
            "untrained-was-better",
            STRONG,
            "held-out data are worse off at once, and stay so",
            when=says("at_once"),
        ),
        Evidence("validation-never-follows", MODERATE, "held-out data gain nothing of what is learned"),
        Evidence(
            "learned-by-heart",
            STRONG,
            "what is learned, and not by heart, holds in training alone",
            when=says("of_another_kind"),
        ),
        Evidence("held-out-parts-from-training", MODERATE, "training and held-out errors part"),
        Evidence("below-trivial-baseline", WEAK, "the score is no better than doing nothing"),
        Evidence("evaluation-scaled-differently", -MODERATE, "the two sets are scaled differently"),
        Evidence("evaluation-normalised-differently", -MODERATE, "the two sets are normalised differently"),
        Evidence("raw-weights-instead-of-ema", -WEAK, "other weights are evaluated than those that learn"),
        Evidence("divergence", -MODERATE, "the training loss itself runs away"),
        Evidence("validation-gains-nothing", -WEAK, "held-out data gain by training", outcome=Outcome.CLEAR),
        Evidence(
            "what-was-learned-is-lost",
            STRONG + MODERATE,
            "what was learned is of no use from one step on",
            when=says("elsewhere"),
        ),
        Evidence(
            "what-was-learned-is-lost",
            MODERATE,
            "what was learned is of no use from one step on",
            when=says("to_the_start"),
        ),
        Evidence(
            "what-was-learned-is-lost",
            STRONG,
            "training learns again behind one step, and held-out data do not",
            when=says("held_out_parts"),
        ),
        Evidence(
            "overfit-gap",
            STRONG + MODERATE,
            "held-out data turn away where the training loss leaps up",
            when=says("after_a_leap"),
        ),
        Evidence(
            "overfit-gap",
            WEAK,
            "held-out data never were better off than before training",
            when=says("never_gained"),
        ),
        Evidence(
            "held-out-falls-back",
            STRONG,
            "what is learned from one step on is of no use elsewhere",
            when=says("stays"),
        ),
        Evidence(
            "held-out-falls-back",
            MODERATE,
            "and training goes on as before",
            when=says("training_is_back"),
        ),
        Evidence(
            "held-out-falls-back",
            -MODERATE,
            "training itself does not come back",
            when=says("training_is_back", False),
        ),
        Evidence(
            "held-out-falls-back",
            MODERATE,
            "what is learned from one step on is of less use",
            when=says("learns_again"),
        ),
    ),
    confirm_by="hold part of the training data out and validate on it: the gap is gone",
)
