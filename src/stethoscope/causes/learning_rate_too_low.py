"""The learning rate is too low, or decays too early, for the run to get anywhere.

## How it works
Steps are so small that the loss stays near where it began, or is still falling slowly when the run ends.

## How to tell it from its look-alikes
Vanishing gradients look alike; there a range test shows no head-room. Here ten times the rate learns at once.

## What cures it
Three to ten times the rate, or a longer schedule.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome, says
from stethoscope.findings import Finding

# Below what even careful fine-tuning uses (1e-6 and up); models trained from scratch take 1e-4 and more.
TINY_RATE = 1e-6


def _rate_is_tiny(finding: Finding) -> bool:
    rate = finding.evidence.get("highest_lr")
    return isinstance(rate, float) and 0 < rate < TINY_RATE


def _for_good(finding: Finding) -> bool:
    return finding.evidence.get("pattern") == "permanent"


USUAL_RATE = 1e-3  # with this no optimizer is slow


def _slow(finding: Finding) -> bool:
    return finding.evidence.get("far") is False and _peak(finding) < USUAL_RATE


def _usual(finding: Finding) -> bool:
    return finding.evidence.get("far") is False and _peak(finding) >= USUAL_RATE


def _peak(finding: Finding) -> float:
    peak = finding.evidence.get("peak")
    return peak if isinstance(peak, float) else 0.0


def _thrown_away(finding: Finding) -> bool:
    """Whether the first steps, at the full rate or leaping, left a network with one answer to everything."""
    seen = finding.evidence
    return seen.get("learns") is False and seen.get("weights_move") is True and seen.get("thrown") is True


CAUSE = Cause(
    title="The learning rate is too low",
    prior=COMMON,
    evidence=(
        Evidence(
            "loss-falls-little", -MODERATE, "such steps lead far with any optimizer", when=says("high_rate")
        ),
        Evidence("held-out-loss-creeps", MODERATE, "every step helps, and is far too small"),
        Evidence(
            "held-out-loss-creeps",
            MODERATE,
            "at a rate that few optimizers get far with",
            when=says("low_rate"),
        ),
        Evidence("held-out-loss-creeps", MODERATE, "and the rate is spent", when=says("spent")),
        Evidence(
            "returns-never-rise", -STRONG, "the policy was left with one action", when=says("one_action")
        ),
        Evidence("returns-never-rise", MODERATE, "what is earned does not change", when=says("sinks", False)),
        Evidence("answers-stay-at-guessing", MODERATE, "nothing is learned"),
        Evidence(
            "answers-stay-at-guessing",
            STRONG,
            "all steps together are shorter than weights are large",
            when=says("goes_nowhere"),
        ),
        Evidence("loss-falls-little", WEAK, "the whole run takes little off the loss"),
        Evidence("loss-falls-little", MODERATE, "calmly, and to the end", when=says("gradual")),
        Evidence(
            "loss-falls-little", MODERATE, "at a rate that few optimizers get far with", when=says("low_rate")
        ),
        Evidence("loss-falls-little", -WEAK, "though the rate is a usual one", when=says("usual_rate")),
        Evidence(
            "loss-falls-evenly", WEAK, "at a rate that few optimizers get far with", when=says("low_rate")
        ),
        Evidence("loss-falls-evenly", -WEAK, "though the rate is a usual one", when=says("usual_rate")),
        Evidence(
            "loss-falls-evenly", MODERATE, "the loss has not begun to level off", when=says("noisy", False)
        ),
        Evidence(
            "learning-hardly-begins",
            DECISIVE,
            "the rate is spent, and the loss had hardly begun to fall",
            when=_slow,
        ),
        Evidence(
            "learning-hardly-begins",
            MODERATE,
            "the rate is spent, and the loss had hardly begun to fall",
            when=_usual,
        ),
        Evidence(
            "learning-hardly-begins",
            MODERATE,
            "the loss had hardly begun to fall, after steps that lead far",
            when=says("far"),
        ),
        Evidence(
            "one-term-takes-over",
            -DECISIVE,
            "the total is another term's, which does not fall",
            when=says("unheard"),
        ),
        Evidence(
            "steps-shorter-than-weights", STRONG, "all steps together are shorter than weights are large"
        ),
        Evidence(
            "steps-shorter-than-weights",
            -MODERATE,
            "the steps lead as far as any weight has to go",
            outcome=Outcome.CLEAR,
        ),
        Evidence("rate-below-use", MODERATE, "such rates are for weights that were trained before"),
        Evidence("rate-times-rate", DECISIVE, "the rate is multiplied with itself"),
        Evidence("rate-moves-nothing", DECISIVE, "all steps together lead nowhere"),
        Evidence("rate-climbs-to-the-end", MODERATE, "the rate never comes to its height"),
        Evidence(
            "loss-plateau", DECISIVE, "the loss stays where it began, at a tiny rate", when=_rate_is_tiny
        ),
        Evidence("loss-plateau", WEAK, "the loss stays where it began"),
        Evidence("loss-plateau", -WEAK, "the loss improves", outcome=Outcome.CLEAR),
        Evidence(
            "non-finite-values",
            -STRONG,
            "the loss is lost for good, which small steps cannot do",
            when=_for_good,
        ),
        Evidence("divergence", -STRONG, "the loss runs away, which small steps cannot do"),
        Evidence(
            "steps-and-what-they-gain",
            STRONG,
            "steps at this rate cannot gain anything",
            when=says("tiny_rate"),
        ),
        Evidence("steps-and-what-they-gain", WEAK, "such steps cannot gain anything", when=says("little")),
        Evidence("steps-and-what-they-gain", -MODERATE, "the steps should have led far", when=says("much")),
        Evidence("validation-settles-at-once", WEAK, "held-out data do not move either"),
        Evidence(
            "metric-never-moves",
            -STRONG,
            "large first steps, which such a rate cannot make",
            when=_thrown_away,
        ),
        Evidence(
            "loss-falls-little", -MODERATE, "small steps do not raise a loss", when=says("leaps_at_first")
        ),
    ),
    confirm_by="a learning-rate range test of a hundred steps",
)
