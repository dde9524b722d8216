"""Attention looks where it must not.

## How it works
A network that says the next token may only look back. Without a mask, or with one that is turned round, the
next token stands in its input, and copying it is all there is to learn. A padding mask that is turned round
leaves it nothing but padding to look at.

## How to tell it from its look-alikes
Change the last token of an input: no answer before it may change. A network that overfits keeps to that, and
does badly on held-out data; this one does as well there and cannot generate.

## What cures it
A causal mask in every layer that attends to its own sequence, and one look at what true means to the function
that gets it.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, Cause, Evidence, says

CAUSE = Cause(
    title="Attention looks where it must not",
    prior=OCCASIONAL,
    evidence=(
        Evidence("later-places-answer", DECISIVE, "the token that is asked for reaches its own answer"),
        Evidence(
            "weights-summed-along-another-axis",
            DECISIVE,
            "the mask comes behind the softmax",
            when=says("masked"),
        ),
        Evidence("pads-attended", DECISIVE, "the network is not told which tokens are padding"),
        Evidence("padding-changes-the-answer", DECISIVE, "padding reaches answers that it should not"),
        Evidence("future-in-sight", DECISIVE, "nothing hides the token that is asked for"),
        Evidence(
            "result-thrown-away",
            DECISIVE,
            "a mask is applied to a copy that nobody takes",
            when=says("mask of network"),
        ),
        Evidence("mask-turned-round", DECISIVE, "the mask marks the opposite of what it is used for"),
    ),
    confirm_by="change the last token of an input: no answer before it may change",
)
