"""The branch that a run went on with, and those that a restart abandoned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from stethoscope.logs.retelling import Mask
from stethoscope.run import Segment, Series

Stretch = tuple[int, int]


def on_one_axis(pieces: list[Series]) -> list[Series]:
    """The pieces that count in the most common unit; a step and an epoch cannot stand in one series."""
    counts: dict[str, int] = {}
    for piece in pieces:
        counts[piece.axis] = counts.get(piece.axis, 0) + len(piece)
    usual = max(counts, key=lambda axis: (axis == "step", counts[axis]))
    return [piece for piece in pieces if piece.axis == usual]


def joined(pieces: list[Series]) -> tuple[Series, list[Series]]:
    """One strictly increasing series, and what later pieces trained again."""
    kept: list[Series] = []
    left: list[Series] = []
    resumes_at: int | None = None
    for piece in reversed(pieces):
        if resumes_at is not None:
            again: Mask = piece.steps >= resumes_at
            if again.any():
                left.append(piece.select(again))
            piece = piece.select(~again)
        if len(piece):
            kept.append(piece)
            resumes_at = int(piece.steps[0])
    kept.reverse()
    left.reverse()
    if len(kept) == 1:
        return kept[0], left
    steps = np.concatenate([piece.steps for piece in kept])
    values = np.concatenate([piece.values for piece in kept])
    told_most = max(reversed(kept), key=len)
    return replace(told_most, steps=steps, values=values), left


def segments_of(pieces: Mapping[str, list[Series]]) -> tuple[Segment, ...]:
    """The stretches of the run, told by the signal logged most often."""
    counted = [found for found in pieces.values() if found and found[0].axis == "step"] or list(
        pieces.values()
    )
    if not counted:
        return ()
    densest = max(counted, key=lambda found: sum(len(piece) for piece in found))
    return tuple(Segment(int(p.steps[0]), int(p.steps[-1]), p.file) for p in densest)


def orphaned_in(segments: tuple[Segment, ...]) -> list[Stretch]:
    """The steps after one, up to another, of abandoned stretches that no later stretch has reached."""
    # For each first step, the furthest that any stretch came which begins there or later.
    reached: dict[int, int] = {}
    furthest = min((segment.last for segment in segments), default=0)
    for segment in sorted(segments, key=lambda segment: -segment.first):
        furthest = max(furthest, segment.last)
        reached[segment.first] = furthest
    pairs = [(before, after) for before, after in pairwise(segments) if after.first <= before.last]
    left = [(reached[after.first], before.last) for before, after in pairs]
    return [(reach, last) for reach, last in left if reach < last]


def without_orphans(series: Series, stretches: list[Stretch]) -> tuple[Series, list[Series]]:
    """The series without points of an abandoned stretch that the stretch trained again never reached."""
    if not stretches or series.axis != "step":
        return series, []
    ends = np.searchsorted(series.steps, np.array(stretches), side="right")
    depth = np.zeros(len(series) + 1, dtype=np.int64)
    np.add.at(depth, ends[:, 0], 1)
    np.subtract.at(depth, ends[:, 1], 1)
    orphaned: Mask = np.cumsum(depth[:-1]) > 0
    if not orphaned.any() or orphaned.all():
        return series, []
    return series.select(~orphaned), [series.select(orphaned)]
