"""One series of two tellings of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stethoscope.logs._splicing.laps import falls, last_of_each_step
from stethoscope.logs.retelling import SAME_VALUE, Mask, agree, digits
from stethoscope.run import Series

NEARLY_ALL = 0.9  # of the steps of a rounded telling, for the exact one to stand in its place


def richer(a: Series, b: Series) -> Series:
    """The longer of two tellings, or the more exact of two as long, with what only the other tells."""
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    if long.axis != short.axis:
        return max(a, b, key=lambda one: (one.axis == "step", len(one)))
    own, other = last_of_each_step(long), last_of_each_step(short)
    if len(other) >= NEARLY_ALL * len(own) and digits(other.values) > digits(own.values):
        own, other = other, own
    if falls(own).any() or falls(other).any() or not agree(own, other):
        # Of restarts and of averages, only what lies outside the other fits to it.
        return with_added(own, other, (other.steps < own.steps.min()) | (other.steps > own.steps.max()))
    return with_added(own, other, ~np.isin(other.steps, own.steps))


def with_added(own: Series, other: Series, added: Mask) -> Series:
    """One telling, and those points of the other that are to be added to it."""
    if not added.any():
        return own
    parts = [other.select(added), own]
    if falls(own).any() or falls(other).any():  # restarts stay in the order they were written in
        before = other.steps < own.steps.min()
        parts = [other.select(added & before), own, other.select(added & ~before)]
    steps = np.concatenate([part.steps for part in parts])
    values = np.concatenate([part.values for part in parts])
    order = np.argsort(steps, kind="stable") if len(parts) == 2 else np.arange(len(steps))
    return replace(own, steps=steps[order], values=values[order])


def repeats(few: Series, many: Series) -> bool:
    """Whether one series has the values that the other has at the same steps."""
    if few.axis != many.axis:
        return False
    for step, value in few:
        told = many.values[many.steps == step]
        if not len(told) or not abs(told[-1] - value) <= SAME_VALUE * max(abs(value), abs(told[-1])):
            return False
    return True
