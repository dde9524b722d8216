"""The schedule waits for a plateau at the wrong end of its number.

## How it works
The schedule cuts the learning rate when its number has not improved for a while. Told that a loss is better
the higher it is, or an accuracy the lower, it never sees an improvement, and cuts whenever its patience is
over. After some ten cuts the rate is a thousandth of what it was, and the network stays where it is.

## How to tell it from its look-alikes
The rate falls at even distances, patience after patience, while the validation improves. A schedule of its
own accord follows a curve that was computed beforehand; a real plateau is flat before each cut.

## What cures it
`mode="max"` for what should rise, `mode="min"` for what should fall, and the validation's number, not that
of the epoch.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The schedule waits for the wrong end of its number",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "plateau-watches-other-end", DECISIVE, "what improves looks to the schedule as if it got worse"
        ),
        Evidence("loss-plateau", WEAK, "the loss settles early"),
        Evidence(
            "plateau-watches-other-end",
            -DECISIVE,
            "no schedule misreads what it is given",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="print the learning rate of each epoch: it is cut while the validation improves",
)
