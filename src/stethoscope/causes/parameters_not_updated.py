"""The optimizer steps, and the parameters stay what they are.

## How it works
The optimizer holds other tensors than the model uses, the rate is zero, everything is frozen, or every step
is skipped.

## How to tell it from its look-alikes
Gradients are there and parameters do not change: the optimizer. Gradients are None: the graph.

## What cures it
Build the optimizer after the model is wrapped and moved; check which parameters require gradients.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome, says
from stethoscope.findings import Finding


def _training_is_frozen(finding: Finding) -> bool:
    """A validation that repeats itself may be that of other weights than those that are trained."""
    told = finding.evidence.get("frozen") is True and finding.evidence.get("without_rate") is not True
    return told and not str(finding.evidence.get("series", "")).startswith("val/")


def _nothing_moves(finding: Finding) -> bool:
    """No metric beside the one that stays says that the weights change."""
    return finding.evidence.get("learns") is False and finding.evidence.get("weights_move") is not True


def _stays(finding: Finding) -> bool:
    return finding.evidence.get("above") is not True


def _to_the_last_digit(finding: Finding) -> bool:
    """Whether an error, which the smallest step would move, is the same at every evaluation."""
    return _nothing_moves(finding) and finding.evidence.get("exact") is True


CAUSE = Cause(
    title="Parameters are not updated",
    prior=COMMON,
    evidence=(
        Evidence(
            "iterator-spent-in-first-round",
            DECISIVE,
            "from the second round on there is nothing to train on",
            when=says("trains"),
        ),
        Evidence("step-returns-nothing", DECISIVE, "the step gives no loss back"),
        Evidence("adapters-frozen", DECISIVE, "what should be trained is frozen with the rest"),
        Evidence("thawed-without-optimizer", DECISIVE, "the optimizer was made without what is thawed"),
        Evidence("new-tokens-frozen", DECISIVE, "the rows of the new tokens are never trained"),
        Evidence("held-out-loss-creeps", -MODERATE, "held-out data gain by every step"),
        Evidence(
            "method-named-not-called",
            DECISIVE,
            "the optimizer's step is named and not called",
            when=says("weights"),
        ),
        Evidence("loss-creeps-back-up", -STRONG, "it had been learned before it was lost"),
        Evidence(
            "loss-settles-high", -MODERATE, "something moves the weights, to and fro", when=says("restless")
        ),
        Evidence("returns-never-rise", -STRONG, "the policy changed", when=says("one_action")),
        Evidence("returns-never-rise", WEAK, "what is earned does not change", when=says("sinks", False)),
        Evidence("both-factors-start-at-zero", DECISIVE, "the gradient of each factor is zero for ever"),
        Evidence("rounding-stops-gradients", DECISIVE, "weights reach their layer only through a rounding"),
        Evidence("run-without-optimizer", DECISIVE, "the trainer itself says that nothing is optimised"),
        Evidence(
            "metric-never-moves",
            MODERATE,
            "no answer ever changes, and nothing is learned",
            when=_nothing_moves,
        ),
        Evidence(
            "metric-never-moves",
            STRONG,
            "the error of every answer stays to its last digit",
            when=_to_the_last_digit,
        ),
        Evidence(
            "metric-never-moves",
            -DECISIVE,
            "training learns, and only what is evaluated stands still",
            when=says("same_weights"),
        ),
        Evidence("part-is-not-updated", STRONG, "the update of a part is exactly zero on every line"),
        Evidence("loss-never-falls", MODERATE, "the loss stays where it began", when=_stays),
        Evidence("no-gradient-arrives", MODERATE, "no gradient was ever logged that is not zero"),
        Evidence(
            "loss-plateau",
            DECISIVE,
            "the loss does not move at all",
            when=_training_is_frozen,
        ),
        Evidence("frozen-and-never-thawed", DECISIVE, "its gradients are switched off in the first round"),
        Evidence("parameters-not-in-optimizer", DECISIVE, "no optimizer has the parameters of a network"),
        Evidence("part-stays-at-random", DECISIVE, "a part was never taught and cannot learn"),
        Evidence("library-network-frozen-at-random", DECISIVE, "a network without weights is frozen"),
        Evidence(
            "optimizer-before-model-change", DECISIVE, "a layer was replaced behind the optimizer's back"
        ),
        Evidence(
            "update-thrown-away",
            DECISIVE,
            "what should move the weights is thrown away",
            when=lambda finding: finding.evidence.get("of") == "weights",
        ),
        Evidence(
            "gradients-cleared-before-step",
            STRONG,
            "every update finds its gradients cleared",
            when=says("one_loss", answer=False),
        ),
        Evidence("loss-scale-at-zero", MODERATE, "every step is skipped"),
        Evidence("loss-at-variance-of-noise", MODERATE, "the output has nothing to do with its target"),
        Evidence("loss-plateau", -WEAK, "the loss improves", outcome=Outcome.CLEAR),
        Evidence(
            "gradients-pile-up",
            MODERATE,
            "gradients pile up in parameters that no optimizer clears",
            when=says("loss_rises", False),
        ),
        Evidence(
            "gradients-pile-up",
            MODERATE,
            "while the others learn what they can",
            when=says("loss_rises", False),
        ),
        Evidence("loss-settles-high", WEAK, "a part of the network learns what it can", when=says("much")),
        Evidence("loss-settles-high", WEAK, "next to nothing is learned", when=says("hardly")),
        Evidence(
            "steps-and-what-they-gain", MODERATE, "the steps do not arrive at the weights", when=says("much")
        ),
        Evidence("validation-settles-at-once", WEAK, "held-out data do not move either"),
        Evidence("answers-are-guesses", -WEAK, "even a part of a network learns more than that"),
        Evidence("learning-hardly-begins", MODERATE, "most of the network does not take part"),
        Evidence("loss-falls-little", WEAK, "little is learned at a usual rate", when=says("usual_rate")),
    ),
    confirm_by="compare the parameters before and after one step",
    shows=("loss-never-falls", "below-trivial-baseline", "validation-left-behind"),
)
