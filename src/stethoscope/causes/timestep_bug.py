"""The network does not know how much noise is in its input.

## How it works
The level is cast to zero, turned round or drawn for the network alone on its way into the embedding. The
best that a network can do then is to answer for all levels at once: the loss settles at the level of a
network that is told nothing.

## How to tell it from its look-alikes
Shuffle the levels among the samples of a batch: the loss of this network does not change. Where corruption
and network differ by a factor that moves with training, it does. A learning rate that is too low leaves the
loss falling.

## What cures it
Hand the network the level that the corruption used, in the unit that its embedding expects.
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


def _is_foreign(finding: Finding) -> bool:
    return "used" in finding.evidence


CAUSE = Cause(
    title="The network is told the wrong noise level",
    prior=OCCASIONAL,
    evidence=(
        Evidence("argument-changes-nothing", DECISIVE, "the level makes no difference", when=says("level")),
        Evidence(
            "sampler-misses-its-data",
            DECISIVE,
            "sampler and training tell the network different noise levels",
            when=says("level_is_turned"),
        ),
        Evidence(
            "level-along-another-axis", DECISIVE, "the levels of the samples are counted along another axis"
        ),
        Evidence("noise-level-mistold", DECISIVE, "the level is cut or turned round on its way in"),
        Evidence(
            "network-told-another-noise-level",
            STRONG,
            "the network is told a level that was drawn for it alone",
            when=_is_foreign,
        ),
        Evidence("loss-plateau", WEAK, "the loss settles early"),
        Evidence(
            "noise-level-mistold", -MODERATE, "the level reaches the network whole", outcome=Outcome.CLEAR
        ),
    ),
    confirm_by="shuffle the levels within a batch: the loss does not change",
    shows=(
        "loss-never-falls",
        "peak-then-decline",
        "below-trivial-baseline",
    ),
)
