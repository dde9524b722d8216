"""What was kept cannot be used to go on.

## How it works
A file that is written in place is half a file after a crash; a ring of the last few checkpoints is soon
full of NaN when nobody looks at what is saved.

## How to tell it from its look-alikes
The file is short, or every step in the folder lies behind the onset. A resume that forgets a part loads
without complaint and goes on wrongly; this one does not load, or loads NaN.

## What cures it
Write beside and rename, look for NaN before saving, and keep a good one, the best one and milestones
besides the ring.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, STRONG, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The checkpoints that are left are of no use",
    prior=OCCASIONAL,
    evidence=(
        Evidence("checkpoint-of-no-use", DECISIVE, "a kept checkpoint is cut off, empty or of NaN"),
        Evidence("live-weights-written-later", DECISIVE, "the file is written while the weights change"),
        Evidence("checkpoint-of-no-use", -STRONG, "the files are whole", outcome=Outcome.CLEAR),
    ),
    confirm_by="load the file on the CPU and look for values that are not finite",
)
