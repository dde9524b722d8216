"""How long to rest between two looks, so that watching takes no visible part of the machine that trains."""

from __future__ import annotations

SHARE = 1 / 30  # of one core, at most: a look that takes it for a second is followed by half a minute of rest


def rest(worked: float, waited: float, every: float) -> float:
    """The seconds to rest after a look, where one is wanted `every` so many.

    `worked` are the seconds of a processor that it took, `waited` those of a clock: a file system that
    answers slowly is left alone for as long as it was asked.
    """
    return max(every, worked / SHARE, waited)
