"""Activations grow with time or depth.

## How it works
Layers that add to a common stream make it grow; what each adds must grow along to count. Nothing in the
loss holds the size, and in half precision it ends in an overflow.

## How to tell it from its look-alikes
A forward overflow is its end; with this cause activations grew long before. Gradient growth shows in the
gradient norm and not in the activations. Attention scores that grow alone have their own name.

## What cures it
A norm behind each branch, branches scaled by a small learned number, weight decay, first weights divided by
the root of the depth.
"""

from __future__ import annotations

from stethoscope.causes.cause import MODERATE, OCCASIONAL, STRONG, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Activations grow with time or depth",
    prior=OCCASIONAL,
    evidence=(
        Evidence("activations-grow", STRONG, "logged activations grew many times over and go on"),
        Evidence("loss-scale-collapse", MODERATE, "the loss scale falls with them"),
        Evidence("non-finite-values", WEAK, "values overflow in the end"),
        Evidence("loss-spike", WEAK, "the loss leaps"),
        Evidence("divergence", WEAK, "the loss runs away"),
        Evidence("activations-grow", -STRONG, "logged activations rest", outcome=Outcome.CLEAR),
    ),
    confirm_by="log the largest activation of each block: the growth adds up from block to block",
    leads_to=("forward-overflow",),
)
