"""Gradients are clipped so hard that the clip sets the pace.

## How it works
When every gradient is above the limit, each update has the same length: rate times limit. With SGD the
learning rate is thereby divided by how far gradients are above the limit. With Adam the size of gradients
drops out, until the limit is so low that they vanish beside its epsilon.

## How to tell it from its look-alikes
A learning rate that is too low looks the same in the loss, but there gradients pass the clip. Vanishing
gradients are small before any clip; here the logged norm is many times the limit.

## What cures it
A limit at which one step in twenty is clipped: the 95th percentile of the logged norms. Raise it and set
the rate again, since the two act together.
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


def _flat(finding: Finding) -> bool:
    return finding.evidence.get("above") is not True


CAUSE = Cause(
    title="Gradients are clipped so hard that the clip sets the pace",
    prior=OCCASIONAL,  # an optimizer that divides by the size of gradients heeds no ordinary clip
    evidence=(
        Evidence("held-out-loss-creeps", MODERATE, "every step helps, and is far too small"),
        Evidence("held-out-loss-creeps", WEAK, "though the rate is a usual one", when=says("usual_rate")),
        Evidence("loss-falls-evenly", WEAK, "the loss has not begun to level off", when=says("noisy", False)),
        Evidence("learning-hardly-begins", MODERATE, "the steps were too small for the run"),
        Evidence("clip-leaves-nothing", DECISIVE, "the limit is too low to move the weights at all"),
        Evidence("every-step-is-clipped", DECISIVE, "nearly all gradients are far above the limit"),
        Evidence("loss-never-falls", MODERATE, "the loss stays where it began", when=_flat),
        Evidence("loss-plateau", WEAK, "the loss comes to rest early"),
        Evidence("divergence", -MODERATE, "weights that are held back do not run away"),
        Evidence("every-step-is-clipped", -STRONG, "gradients pass the clip", outcome=Outcome.CLEAR),
        Evidence("clip-leaves-nothing", -WEAK, "the limit lets the weights move", outcome=Outcome.CLEAR),
        Evidence(
            "steps-and-what-they-gain",
            MODERATE,
            "the steps are far shorter than their gradients",
            when=says("much"),
        ),
        Evidence(
            "steps-and-what-they-gain", -MODERATE, "gradients are small without a clip", when=says("little")
        ),
        Evidence("validation-settles-at-once", WEAK, "held-out data do not move either"),
        Evidence("loss-falls-evenly", MODERATE, "though the rate is a usual one", when=says("usual_rate")),
        Evidence("loss-falls-little", WEAK, "though the rate is a usual one", when=says("usual_rate")),
        Evidence(
            "steps-and-what-they-gain",
            -MODERATE,
            "no clip slows steps of such a size",
            when=says("high_rate"),
        ),
    ),
    confirm_by="go on from a checkpoint with ten times the limit: with SGD the loss falls at another pace",
)
