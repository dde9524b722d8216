"""Does a loss stand on a floor that no loss of its kind should have?

A cross entropy that is given probabilities for logits cannot fall below ln(e + C - 1) - 1 for C classes,
for no batch and no sample, and cannot rise above that plus one. Each wrong answer that is given with
certainty costs one, so that where most answers are right, the level is tied to the accuracy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stethoscope.run import Values

LEAST_POINTS = 40  # a long stay: fewer losses may stand anywhere by chance
LEAST_EVALUATIONS = 5
LEAST_CLASSES = 3
EDGE = 0.002  # relative: losses are printed with three or four digits
LATE = 4  # the last part of the curve, one in so many
MOST_WRONG = 0.15  # of the answers: with more of them, other losses have such levels, too
CLOSE = 0.02  # by which the level may miss what the wrong answers cost
BEGINS = 0.5  # of the way from the floor to the loss of guessing, at least, at the first values
ABOVE_GUESSING = 0.1
LEARNED = 0.15  # of all answers: what must have become right, for the two to be seen to go together
SETTLED = 4  # of so many evaluations the first may be of answers that are not sure yet
OFF_SUM, STRAY = 0.045, 0.09  # by which the sums may miss, in the middle and at most
OFF_SLOPE = 0.2  # of one for one


@dataclass(frozen=True, slots=True)
class Floor:
    """A floor, the lowest value, the level at the end, and the level that the accuracy tells."""

    floor: float
    lowest: float
    level: float
    expected: float


def double_softmax(values: Values, classes: int, accuracy: float) -> Floor | None:
    """The floor of a softmax of a softmax, where finite losses of batches stand on it.

    `accuracy` is the share of right answers at the end.
    """
    if classes < LEAST_CLASSES or len(values) < LEAST_POINTS or not 0.0 <= 1.0 - accuracy <= MOST_WRONG:
        return None
    floor, guessing = double_softmax_floor(classes), math.log(classes)
    start = float(np.median(values[:3]))
    begins = floor + BEGINS * (guessing - floor) <= start <= guessing + ABOVE_GUESSING
    lowest = float(values.min())
    if not begins or lowest < (1.0 - EDGE) * floor or float(values.max()) > floor + 1.0 + EDGE:
        return None
    late = values[-max(LEAST_POINTS // 2, len(values) // LATE) :]
    level, expected = float(np.median(late)), floor + 1.0 - accuracy
    # An answer that is wrong without certainty costs less than one, so the level may be lower, not higher.
    if not floor - CLOSE <= level <= expected + CLOSE:
        return None
    return Floor(floor, lowest, level, expected)


def double_softmax_held_out(train: Values, held: Values, classes: int, accuracy: float) -> Floor | None:
    """The same floor where finite losses of evaluations stand on it, and no batch was ever below it.

    A mean over all held-out samples has little noise, so that few of them tell as much as many batches.
    """
    if len(held) < LEAST_EVALUATIONS or classes < LEAST_CLASSES or not 0.0 <= 1.0 - accuracy <= MOST_WRONG:
        return None
    floor, guessing = double_softmax_floor(classes), math.log(classes)
    lowest = float(min(train.min(), held.min()))
    if lowest < (1.0 - EDGE) * floor or float(train[:3].max()) > guessing + ABOVE_GUESSING:
        return None
    level, expected = float(np.median(held[-3:])), floor + 1.0 - accuracy
    return Floor(floor, lowest, level, expected) if level <= expected + CLOSE else None


def double_softmax_along(train: Values, held: Values, accuracies: Values, classes: int) -> Floor | None:
    """The same where most answers may be wrong: every evaluation's loss and accuracy have the sum they must.

    `held` and `accuracies` are of the same evaluations. A cross entropy of logits falls faster than the share
    of right answers rises, and from another sum.
    """
    if len(held) < LEAST_EVALUATIONS + 1 or len(held) != len(accuracies) or classes < LEAST_CLASSES:
        return None
    floor = double_softmax_floor(classes)
    lowest = float(min(train.min(), held.min()))
    late = slice(len(held) // SETTLED, None)
    losses, right = held[late], accuracies[late]
    gained = float(np.ptp(accuracies)) >= LEARNED and float(np.std(right)) > 0.0
    if (
        not gained
        or lowest < (1.0 - EDGE) * floor
        or float(train[:3].max()) > math.log(classes) + ABOVE_GUESSING
    ):
        return None
    off = np.abs(losses + right - (floor + 1.0))
    slope = float(np.polyfit(accuracies, held, 1)[0])
    if float(np.median(off)) > OFF_SUM or float(off.max()) > STRAY or abs(slope + 1.0) > OFF_SLOPE:
        return None
    return Floor(floor, lowest, float(losses[-1]), floor + 1.0 - float(right[-1]))


def double_softmax_floor(classes: int) -> float:
    """The least cross entropy of probabilities that are taken for logits."""
    return math.log(math.e + classes - 1.0) - 1.0
