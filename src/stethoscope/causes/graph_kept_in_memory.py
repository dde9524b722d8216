"""Memory grows because losses are kept with their graphs.

## How it works
A tensor that needs a gradient holds on to everything it was computed from. A running sum or a list of losses
keeps the graphs of all batches of an epoch.

## How to tell it from its look-alikes
Memory grows in even steps with every batch and falls back when the sum or list is let go. Fragmentation and
longer inputs come and go.

## What cures it
`loss.detach()` in the sum, `.item()` where a number is needed.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, STRONG, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Losses are kept with their graphs",
    prior=OCCASIONAL,
    evidence=(
        Evidence("loss-kept-with-graph", DECISIVE, "a sum or list keeps the graph of every batch"),
        Evidence("loss-kept-with-graph", -STRONG, "what is kept is detached", outcome=Outcome.CLEAR),
    ),
    confirm_by="print torch.cuda.memory_allocated() every hundred batches",
    leads_to=("out-of-memory",),
)
