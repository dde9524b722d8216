"""Labels do not belong to their inputs.

## How it works
Shuffled, shifted or mostly wrong labels can be learnt by heart and never generalise: the training loss may
fall while validation stays at the level of guessing.

## How to tell it from its look-alikes
An overfitted model was better than guessing before it turned; here validation never was.

## What cures it
Look at a few samples with their labels as the model receives them, after every augmentation.
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


def _at_chance(finding: Finding) -> bool:
    return finding.evidence.get("kind") == "chance"


def _train_falls(finding: Finding) -> bool:
    return _at_chance(finding) and finding.evidence.get("train_falls") is True


def _nothing_is_labelled(finding: Finding) -> bool:
    return finding.evidence.get("disguised") is True and finding.evidence.get("from_the_start") is True


def _is_of_the_labels(finding: Finding) -> bool:
    return finding.evidence.get("kind") in {"labels", "column"}


CAUSE = Cause(
    title="Labels do not belong to their inputs",
    prior=OCCASIONAL,
    evidence=(
        Evidence("missing-answers-count", STRONG, "answers that nobody gave are learned from"),
        Evidence("next-state-is-the-state", DECISIVE, "worths are learned of states that do not follow"),
        Evidence("held-out-loss-creeps", -STRONG, "held-out data gain by every step"),
        Evidence("untrained-was-better", WEAK, "nothing of it is of use elsewhere", when=says("at_once")),
        Evidence("loss-within-one-of-guessing", WEAK, "there is little to learn"),
        Evidence("term-stays-at-a-coin", MODERATE, "what it asks for cannot be learned"),
        Evidence("returns-never-rise", MODERATE, "actions are credited with what others earned"),
        Evidence("answers-stay-at-guessing", MODERATE, "there is nothing to learn"),
        Evidence("right-only-in-training", MODERATE, "nothing general is learned"),
        Evidence("learning-hardly-begins", MODERATE, "there is little to learn"),
        Evidence(
            "learning-hardly-begins", STRONG, "and steps that lead far find nothing of it", when=says("far")
        ),
        Evidence(
            "metric-never-moves", -STRONG, "the evaluated weights do not change at all", when=says("learns")
        ),
        Evidence("metric-never-moves", -STRONG, "no weight moves at all", when=says("exact")),
        Evidence("validation-settles-at-once", MODERATE, "there is nothing to learn"),
        Evidence("score-stays-at-nothing", MODERATE, "nothing of what is asked for is learned"),
        Evidence(
            "result-thrown-away",
            STRONG,
            "a step that makes samples or losses is computed and lost",
            when=says("samples"),
        ),
        Evidence("answer-among-inputs", DECISIVE, "the network is given what it has to predict"),
        Evidence("token-after-the-next", DECISIVE, "the target was moved twice"),
        Evidence("episode-ends-ignored", DECISIVE, "targets count on what follows the end of an episode"),
        Evidence("labels-smoothed-away", DECISIVE, "little of the labels is left"),
        Evidence("returns-from-first-step", DECISIVE, "actions are credited with what came before them"),
        Evidence(
            "contrast-misread",
            DECISIVE,
            "the matching pair is looked for in the wrong column",
            when=_is_of_the_labels,
        ),
        Evidence("answer-moves-with-network", DECISIVE, "the answers move towards the predictions"),
        Evidence("places-ordered-apart", DECISIVE, "scores meet the labels of other places"),
        Evidence("labels-mixed-apart", DECISIVE, "inputs and labels are put into two different orders"),
        Evidence("classes-numbered-apart", DECISIVE, "the two sets number their classes each for itself"),
        Evidence("labels-shifted-in-one-part", DECISIVE, "one part of the data counts its classes otherwise"),
        Evidence("targets-moved-apart", DECISIVE, "inputs and targets are cropped or turned apart"),
        Evidence(
            "blended-with-itself",
            DECISIVE,
            "inputs are mixed and their labels are not",
            when=says("averages", False),
        ),
        Evidence("targets-show-other-places", DECISIVE, "inputs and targets show different places"),
        Evidence("classes-mixed-by-resize", DECISIVE, "a resize makes classes that nobody drew"),
        Evidence("below-trivial-baseline", MODERATE, "validation never beats guessing", when=_at_chance),
        Evidence("below-trivial-baseline", MODERATE, "while the training loss falls", when=_train_falls),
        Evidence("loss-never-falls", WEAK, "there is nothing to learn"),
        Evidence("validation-never-follows", MODERATE, "nothing general is learned"),
        Evidence(
            "validation-never-follows", MODERATE, "and what is learned is sure of itself", when=says("rises")
        ),
        Evidence("validation-left-behind", MODERATE, "the validation never moves while training learns"),
        Evidence(
            "validation-gains-nothing",
            STRONG + MODERATE,
            "fewer answers are right than guesses would be: they are numbered otherwise",
            when=says("worse_than_guesses"),
        ),
        Evidence(
            "held-out-parts-from-training", MODERATE, "nothing general is learned", when=says("by_heart")
        ),
        Evidence("overfit-gap", MODERATE, "the training data is learnt by heart"),
        Evidence(
            "overfit-gap", STRONG, "and held-out answers were guesses throughout", when=says("at_chance")
        ),
        Evidence(
            "overfit-gap", STRONG, "and nothing of it was ever of use elsewhere", when=says("never_transfers")
        ),
        Evidence(
            "non-finite-values",
            STRONG,
            "from the first step on the loss is the mean over no label at all",
            when=_nothing_is_labelled,
        ),
        Evidence("below-trivial-baseline", -MODERATE, "validation beats guessing", outcome=Outcome.CLEAR),
        Evidence("validation-below-training", WEAK, "only the training data are hard to predict"),
        Evidence(
            "validation-below-training",
            MODERATE,
            "and hardly anything of them is learned",
            when=says("falls_little"),
        ),
        Evidence("steps-and-what-they-gain", WEAK, "the gradients hold nothing but noise", when=says("much")),
        Evidence("loss-settles-high", WEAK, "there is little to learn"),
        Evidence("loss-settles-high", WEAK, "next to nothing is learned", when=says("hardly")),
        Evidence(
            "overfit-gap",
            MODERATE,
            "held-out data never were better off than before training",
            when=says("never_gained"),
        ),
        Evidence("answers-are-guesses", STRONG, "one answer is given to everything"),
        Evidence("loss-falls-little", WEAK, "little is learned at a usual rate", when=says("usual_rate")),
    ),
    confirm_by="look at a few samples with their labels as the model receives them",
)
