"""The machine became slower.

## How it works
A card gets too hot and lowers its clock, a neighbour takes its share of a disk or a link, one node among many
lags and all others wait for it. Every step takes longer from then on; nothing else changes.

## How to tell it from its look-alikes
A longer sequence or a larger batch changes the loss or its noise at the same step. A loader that cannot keep
up shows in the time spent waiting for data.

## What cures it
Watch the clocks and temperatures of the devices, exchange the slow one, move the data nearer.
"""

from __future__ import annotations

from stethoscope.causes.cause import OCCASIONAL, STRONG, Cause, Evidence

CAUSE = Cause(
    title="The machine became slower",
    prior=OCCASIONAL,
    evidence=(Evidence("steps-become-slow", STRONG, "every step takes longer from one step on"),),
    confirm_by="run a hundred steps of the same settings on another machine and compare their times",
)
