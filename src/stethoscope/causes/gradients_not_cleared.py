"""Gradients of earlier batches stay in place and are added to every later one.

## How it works
`backward()` adds to `.grad`. Where nothing clears it, or it is cleared between the backward pass and the
step, an update follows the sum of all batches, or nothing at all.

## How to tell it from its look-alikes
A rate that is too high diverges at once; this one grows worse with the number of steps. Accumulation on
purpose clears once per window.

## What cures it
`optimizer.zero_grad(set_to_none=True)` once per update, before the first backward pass of the window.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="Gradients are not cleared between updates",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "method-named-not-called",
            DECISIVE,
            "what would clear them is named and not called",
            when=says("zero_grad"),
        ),
        Evidence(
            "gradients-of-the-other-side",
            2 * DECISIVE,  # such a loop does clear its gradients, only at another place
            "one network steps with gradients of the other's loss",
        ),
        Evidence("divergence", MODERATE, "the loss runs away, as under steps that are summed"),
        Evidence("gradients-run-on", DECISIVE, "the gradient norm glides like a running sum"),
        Evidence(
            "loss-stands-above-its-start", MODERATE, "updates leave the network worse than at its start"
        ),
        Evidence("loss-waits-for-a-lower-rate", MODERATE, "the loss falls only as the rate is taken away"),
        Evidence("gradients-never-cleared", DECISIVE, "nothing in the loop clears the gradients"),
        Evidence(
            "gradients-cleared-before-step",
            DECISIVE,
            "they are cleared just before the step that needs them",
            when=says("one_loss", answer=False),
        ),
        Evidence(
            "gradients-never-cleared", -DECISIVE, "every loop clears its gradients", outcome=Outcome.CLEAR
        ),
        Evidence("non-finite-values", MODERATE, "the loss grew before it was lost", when=says("grew")),
        Evidence("gradients-pile-up", MODERATE, "the gradient norm grows with the number of steps"),
        Evidence("gradients-pile-up", -MODERATE, "as the loss has no lowest value", when=says("loss_sinks")),
    ),
    confirm_by="print the gradient norm before each backward pass: it should be zero or None",
    shows=(
        "divergence",
        "loss-spike",
        "loss-oscillation",
        "loss-plateau",
        "loss-never-falls",
        "non-finite-values",
        "peak-then-decline",
        "below-trivial-baseline",
    ),
)
