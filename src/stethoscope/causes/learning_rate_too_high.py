"""The learning rate is too high: updates overshoot.

## How it works
Past a bound set by the curvature each update lands further from the minimum than the last. The loss rises
exponentially or jumps to the level of an untrained model and stays; gradients rise before or with it.

## How to tell it from its look-alikes
A curriculum or a change of data raises the loss too, but not the loss at fixed difficulty. Overfitting leaves
the training loss falling. One bad batch carries the loss away in one step, a resume that lost the weights at
a restart. A jump of the rate itself has its own name.

## What cures it
A third to a tenth of the rate, a warm-up, clipping; resume from before the onset.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome, says
from stethoscope.findings import Finding

BEYOND_DATA = 1000.0  # times the first loss


def _over_many_steps(finding: Finding) -> bool:
    return finding.evidence.get("one_step") is not True


def _at_restart(finding: Finding) -> bool:
    return finding.evidence.get("at_restart") is True


def _begins_again(finding: Finding) -> bool:
    return _at_restart(finding) and finding.evidence.get("back_to_start") is True


def _lost_from_calm(finding: Finding) -> bool:
    """Whether a loss is lost from one line to the next, at a rate that networks bear."""
    seen = finding.evidence
    calm = seen.get("grew") is False and seen.get("from_the_start") is not True
    return calm and seen.get("high_rate") is not True


def _lasting(finding: Finding) -> bool:
    return finding.evidence.get("grade") in {"S2", "S3"}


def _above_start(finding: Finding) -> bool:
    return finding.evidence.get("above") is True


def _out_of_range(finding: Finding) -> bool:
    seen = finding.evidence
    return (
        seen.get("kind") == "flat colour" and seen.get("baseline") == 10.0 and seen.get("learns") is not True
    )


def _throws_away(finding: Finding) -> bool:
    """Whether a loss above its start was never far below it, or is beyond anything that data explain."""
    top, first = finding.evidence.get("top"), finding.evidence.get("first")
    if isinstance(top, float) and isinstance(first, float) and top >= BEYOND_DATA * first:
        return True
    return finding.evidence.get("learned_before") is False


def _thrown_away(finding: Finding) -> bool:
    """Whether the first steps, at the full rate or leaping, left a network with one answer to everything."""
    seen = finding.evidence
    return seen.get("learns") is False and seen.get("weights_move") is True and seen.get("thrown") is True


def _thrown_for_good(finding: Finding) -> bool:
    """Whether one leap far beyond the start left the loss there, at a rate that was never higher before."""
    seen = finding.evidence
    return bool(seen.get("for_good") and seen.get("beyond_start") and not seen.get("rate_was_higher"))


def _is_quiet(finding: Finding) -> bool:
    """Whether the first steps are there to see, and moved the loss nowhere."""
    return finding.evidence.get("quiet") is True


def _is_not_quiet(finding: Finding) -> bool:
    return not _is_quiet(finding)


CAUSE = Cause(
    title="The learning rate is too high",
    prior=COMMON,
    evidence=(
        Evidence(
            "non-finite-values", STRONG, "at a rate that hardly any network survives", when=says("high_rate")
        ),
        Evidence(
            "what-was-learned-is-lost",
            STRONG,
            "one leap leaves a network that learns no more",
            when=_thrown_for_good,
        ),
        Evidence(
            "what-was-learned-is-lost",
            MODERATE,
            "at a rate that only plain descent gets along with",
            when=says("fast_rate"),
        ),
        Evidence(
            "loss-falls-little",
            WEAK,
            "at a rate that only plain descent gets along with",
            when=says("fast_rate"),
        ),
        Evidence(
            "loss-falls-little",
            MODERATE,
            "at a rate that hardly any network gets along with",
            when=says("high_rate"),
        ),
        Evidence("loss-falls-little", -STRONG, "such small steps throw nothing away", when=says("low_rate")),
        Evidence("loss-settles-high", WEAK, "steps of such a size find nothing lower"),
        Evidence("loss-settles-high", WEAK, "next to nothing is learned", when=says("hardly")),
        Evidence(
            "loss-settles-high",
            WEAK,
            "at a rate that only plain descent gets along with",
            when=says("fast_rate"),
        ),
        Evidence(
            "loss-begins-far-above",
            MODERATE,
            "at a rate that only plain descent gets along with",
            when=says("fast_rate"),
        ),
        Evidence("held-out-loss-creeps", -STRONG, "held-out data gain by every step, evenly"),
        Evidence(
            "loss-creeps-back-up", -MODERATE, "a rate that falls ends what it did", when=says("rate_falls")
        ),
        Evidence(
            "loss-creeps-back-up", WEAK, "what was learned is worn away", when=says("rate_falls", False)
        ),
        Evidence(
            "returns-never-rise",
            STRONG,
            "the policy was left with one action at once",
            when=says("one_action"),
        ),
        Evidence(
            "loss-settles-high",
            WEAK,
            "held-out errors go to and fro between evaluations",
            when=says("restless"),
        ),
        Evidence("returns-never-rise", MODERATE, "the first steps throw the policy away"),
        Evidence(
            "answers-stay-at-guessing", WEAK, "what is learned is thrown away again", when=_is_not_quiet
        ),
        Evidence("validation-in-another-range", -MODERATE, "training goes well"),
        Evidence("loss-begins-far-above", MODERATE, "the first losses are far above all later ones"),
        Evidence("loss-falls-little", WEAK, "the whole run takes little off the loss"),
        Evidence("loss-falls-little", -MODERATE, "calmly, and to the end", when=says("gradual")),
        Evidence("loss-falls-little", WEAK, "nothing is gained behind the first steps", when=says("at_once")),
        Evidence("loss-falls-evenly", MODERATE, "noisy steps make little progress each", when=says("noisy")),
        Evidence("below-trivial-baseline", STRONG, "the outputs are far out of range", when=_out_of_range),
        Evidence(
            "below-trivial-baseline",
            STRONG + MODERATE,
            "the network never does better than a constant answer",
            when=says("learns", False),
        ),
        Evidence(
            "metric-never-moves",
            MODERATE,
            "one answer to everything, after first steps that were too large",
            when=_thrown_away,
        ),
        Evidence("metric-never-moves", -STRONG, "no weight moves at all", when=says("exact")),
        Evidence("validation-settles-at-once", WEAK, "the weights were thrown away at the start"),
        Evidence(
            "loss-stands-above-its-start",
            DECISIVE,
            "the loss is above its start for long, and comes back",
            when=_throws_away,
        ),
        Evidence(
            "loss-stays-far-beyond-its-start",
            STRONG,
            "the weights were thrown far off, and stay there",
            when=says("erratic", False),
        ),
        Evidence("loss-waits-for-a-lower-rate", DECISIVE, "the loss falls only as the rate is taken away"),
        Evidence(
            "metric-never-moves", -DECISIVE, "training learns, however little", when=says("same_weights")
        ),
        Evidence("loss-starts-over", -DECISIVE, "the network began anew"),
        Evidence("loss-spike", -DECISIVE, "one batch was out of all proportion", when=says("one_batch")),
        Evidence("gradients-run-on", -MODERATE, "the gradients of earlier batches are still in the steps"),
        Evidence("right-less-often-than-guessing", -STRONG, "the order of the data explains the loss"),
        Evidence("one-term-takes-over", -DECISIVE, "the total rises by a weight", when=says("driven")),
        Evidence(
            "rate-above-use",
            STRONG,
            "such steps throw weights away, and little was learned",
            when=says("poor"),
        ),
        Evidence("rate-above-use", MODERATE, "no such rate is in use with Adam", when=says("poor", False)),
        Evidence("rate-far-above-use", DECISIVE, "no pretrained transformer is tuned at such a rate"),
        Evidence(
            "decay-outpaces-learning",
            DECISIVE,
            "at such a rate a usual weight decay takes the weights away within a few updates",
            when=says("by_rate"),
        ),
        Evidence("rate-and-decay-exchanged", DECISIVE, "the weight decay is the learning rate"),
        Evidence("betas-exchanged", DECISIVE, "steps grow to many times the rate whenever gradients shrink"),
        Evidence("rate-times-batch", DECISIVE, "the rate is multiplied by the batch and divided by none"),
        Evidence("divergence", STRONG, "the training loss runs away", when=_over_many_steps),
        Evidence("loss-never-falls", STRONG, "every update made the loss worse", when=_above_start),
        Evidence(
            "loss-rises-with-rate", DECISIVE, "the loss stands high while the rate does, and falls with it"
        ),
        Evidence("loss-spike", MODERATE, "spikes that do not recover", when=_lasting),
        Evidence("non-finite-values", WEAK, "the run ends in values that are not finite"),
        Evidence("peak-then-decline", WEAK, "validation goes with it"),
        Evidence("divergence", -MODERATE, "the rise begins at a restart", when=_at_restart),
        Evidence("divergence", -STRONG, "at the level of the very first steps", when=_begins_again),
        Evidence("learning-rate-jump", -MODERATE, "the rate itself jumps where nobody meant it to"),
        # Most rates that are too high throw the weights away once, early, and nothing runs away behind that.
        Evidence("divergence", -WEAK, "the training loss does not run away", outcome=Outcome.CLEAR),
        Evidence(
            "what-was-learned-is-lost", MODERATE, "the loss climbs out of where it was", when=says("slowly")
        ),
        Evidence(
            "what-was-learned-is-lost", -STRONG, "what was learned is lost at once", when=says("for_once")
        ),
        Evidence(
            "what-was-learned-is-lost",
            -STRONG,
            "the rate had been higher, and did no harm",
            when=says("rate_was_higher"),
        ),
        Evidence("non-finite-values", MODERATE, "the loss grew before it was lost", when=says("grew")),
        Evidence(
            "non-finite-values", -MODERATE, "nothing had grown before it was lost", when=_lost_from_calm
        ),
        Evidence(
            "steps-and-what-they-gain",
            MODERATE,
            "steps of such a size throw the weights about",
            when=says("high_rate"),
        ),
        Evidence("non-finite-values", -STRONG, "the loss fell, without end", when=says("downwards")),
        Evidence("held-out-falls-back", -MODERATE, "held-out scores fall between two evaluations"),
        Evidence("answers-are-guesses", STRONG, "the first steps threw the weights away", when=_is_not_quiet),
        Evidence("answers-are-guesses", -WEAK, "no step ever moved the loss", when=_is_quiet),
        Evidence("nothing-measured-is-learned", MODERATE, "the first steps threw the weights away"),
        Evidence("loss-falls-little", WEAK, "and the first steps raised it", when=says("leaps_at_first")),
    ),
    confirm_by="replay from before the onset at 1, 1/3 and 1/10 of the rate: only the lower ones stay calm",
    leads_to=("gradient-growth", "forward-overflow"),
)
