"""Many judgements, few false alarms: the procedure of Benjamini and Yekutieli.

It holds whatever the dependence between the judgements is. Where nothing is wrong at all, the chance of any
alarm is at most the rate asked for.
"""

from __future__ import annotations

from collections.abc import Sequence


def adjusted(chances: Sequence[float]) -> tuple[float, ...]:
    """The chances, each so much larger that all below a rate may be called departures at that rate."""
    count = len(chances)
    harmonic = sum(1.0 / rank for rank in range(1, count + 1))
    order = sorted(range(count), key=lambda index: chances[index], reverse=True)
    made = [1.0] * count
    least = 1.0
    for place, index in enumerate(order):
        rank = count - place
        least = min(least, chances[index] * count * harmonic / rank)
        made[index] = least
    return tuple(made)
