"""Part of what the loss averages over is filling that anyone could predict.

## How it works
Sequences are padded to one length, or pictures to one number of channels, and the filling counts in the loss.
It is learned at once, so the loss falls fast, stands lower than the real error, and follows the amount of
filling; copying a channel instead of padding adds exposures that real data does not have.

## How to tell it from its look-alikes
Taken apart by token or channel, the loss of the filling is near zero and that of the rest is not.

## What cures it
Mask the loss, or use the real number of channels. Copies do not help.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Padding dilutes the loss",
    prior=COMMON,
    evidence=(
        Evidence("end-of-text-not-learnt", MODERATE, "the end of a text is masked with the padding"),
        Evidence("padding-in-loss", STRONG, "pad tokens count in the loss"),
        Evidence("missing-answers-count", DECISIVE, "answers that are missing count in the loss"),
        Evidence("empty-channels-in-loss", STRONG, "empty channels count in the loss"),
        Evidence("empty-channels-in-samples", MODERATE, "samples are filled up with empty channels"),
        Evidence("copies-with-own-noise", MODERATE, "copies of a channel get noise of their own"),
        Evidence(
            "padding-in-loss", -MODERATE, "nothing that data sets add reaches the loss", outcome=Outcome.CLEAR
        ),
    ),
    confirm_by="compute the loss with a mask on two checkpoints: it differs from the logged one",
)
