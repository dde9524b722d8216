"""A resume did not restore what it should have.

## How it works
A checkpoint that does not exist, keys that do not match under strict=False, or a path that silently starts
from scratch.

## How to tell it from its look-alikes
The loss jumps back to the level of an untrained model within a few steps of the restart. Lost optimizer
state costs only a short bump.

## What cures it
Load strictly, and compare the first loss after a resume with the last one before it.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, Cause, Evidence, says
from stethoscope.findings import Finding


def _jumps_at_restart(finding: Finding) -> bool:
    aligned = "restart" in str(finding.evidence.get("aligned_with", ""))
    return (aligned or finding.evidence.get("at_restart") is True) and finding.evidence.get("grade") != "S0"


def _back_to_start(finding: Finding) -> bool:
    return _jumps_at_restart(finding) and finding.evidence.get("back_to_start") is True


def _parts(finding: Finding) -> bool:
    seen = finding.evidence
    return seen.get("stays") is True and seen.get("training_is_back") is True


def _beyond_for_good(finding: Finding) -> bool:
    return finding.evidence.get("for_good") is True and finding.evidence.get("beyond_start") is True


def _at_its_start_late(finding: Finding) -> bool:
    seen = finding.evidence
    at_start = seen.get("to_the_start") is True and seen.get("beyond_start") is False
    return at_start and seen.get("rate_was_higher") is True


CAUSE = Cause(
    title="A resume did not restore the weights",
    prior=COMMON,
    evidence=(
        Evidence("average-left-behind", STRONG, "the average of the weights is saved and never restored"),
        Evidence("checkpoint-without-buffers", DECISIVE, "the checkpoint has no running statistics"),
        Evidence("loss-starts-over", DECISIVE, "the loss is learned down from its first level twice"),
        Evidence("weights-left-at-random", STRONG, "a load left more than a head at random"),
        Evidence("checkpoint-missing", STRONG, "the checkpoint that the settings ask for does not exist"),
        Evidence("weights-passed-over", DECISIVE, "the load fits no name of the network, and is lenient"),
        Evidence(
            "weights-read-and-dropped",
            DECISIVE,
            "the weights to go on from never reach the network",
            when=says("trained"),
        ),
        Evidence("resume-without-weights", DECISIVE, "the resume restores the optimizer and not the weights"),
        Evidence(
            "loss-back-at-its-start", STRONG, "the loss is that of an untrained network behind a restart"
        ),
        Evidence("resume-flag-unused", STRONG, "the option for resuming loads no checkpoint"),
        Evidence(
            "loss-spike", STRONG, "the loss returns to its starting level at a restart", when=_back_to_start
        ),
        Evidence("loss-spike", MODERATE, "the loss jumps at a restart", when=_jumps_at_restart),
        Evidence(
            "divergence", STRONG, "the loss returns to its starting level at a restart", when=_back_to_start
        ),
        Evidence("divergence", MODERATE, "the loss rises at a restart", when=_jumps_at_restart),
        Evidence(
            "what-was-learned-is-lost",
            STRONG,
            "the loss leaps to its first level and is learned down again",
            when=says("begins_again"),
        ),
        Evidence(
            "what-was-learned-is-lost",
            MODERATE,
            "the loss leaps to the level of its first steps",
            when=says("to_the_start"),
        ),
        Evidence(
            "held-out-falls-back",
            STRONG,
            "held-out scores fall back at once and are learned once more",
            when=says("learns_again"),
        ),
        Evidence("held-out-falls-back", MODERATE, "held-out scores fall back at once", when=says("stays")),
        Evidence(
            "held-out-falls-back",
            -STRONG,
            "training is back where it was, and held-out scores are not",
            when=_parts,
        ),
        Evidence(
            "what-was-learned-is-lost",
            -STRONG,
            "the loss leaps far beyond its start and comes to rest: nothing is learned once more",
            when=_beyond_for_good,
        ),
        Evidence(
            "what-was-learned-is-lost",
            STRONG,
            "the loss is back where the untrained network was, with little of the rate left to learn by",
            when=_at_its_start_late,
        ),
        Evidence(
            "what-was-learned-is-lost",
            -MODERATE,
            "training learns again, and held-out data do not",
            when=says("held_out_parts"),
        ),
    ),
    confirm_by="load the checkpoint with strict=True and evaluate it before the first step",
    shows=("learning-rate-jump", "peak-then-decline"),
)
