"""The discriminator wins, and the generator learns nothing from it.

## How it works
A discriminator that learns much faster than the generator soon tells every sample apart. Its answer is then
flat, its gradient is noise, and the generator's adversarial term climbs while its samples stop improving.

## How to tell it from its look-alikes
A learning rate that is too high makes both losses leap; here the one stays at zero and the other climbs
calmly. Terms out of balance leave the discriminator's loss where an even game has it. The losses of a
healthy game are not monotone either, but they do not stay at zero.

## What cures it
A lower rate for the discriminator or fewer of its updates, a gradient penalty (R1), spectral norm, a
generator trained without it first, noise on what it sees.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, STRONG, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The discriminator wins",
    prior=OCCASIONAL,
    evidence=(
        Evidence("discriminator-steps-faster", MODERATE, "the discriminator takes far larger steps"),
        Evidence("discriminator-gains", MODERATE, "the discriminator gets ahead all through the game"),
        Evidence("discriminator-wins", STRONG, "its loss stays near zero while the other side's climbs"),
        Evidence("discriminator-favoured", DECISIVE, "the settings let it learn many times faster"),
        Evidence("peak-then-decline", MODERATE, "the metric of the generator gets worse"),
        Evidence("validation-left-behind", WEAK, "the metric no longer follows"),
        Evidence("discriminator-wins", -WEAK, "the discriminator makes mistakes", outcome=Outcome.CLEAR),
    ),
    confirm_by="train only the generator for a few hundred steps: the discriminator's loss comes back",
)
