"""The loss so far in a bounded space: every value of the last steps, fewer of those before, and the first.

Older values are thinned out, not averaged: each that is kept is as noisy as it was, so that a detector of the
post-mortem, given them all, measures the same noise everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from stethoscope.run import Steps, Values

BLOCK = 32  # steps after which the trace is looked at
BLOCKS = 16  # medians of blocks that are kept
FIRST = 8  # values of the beginning that are never thinned out
FINEST = 256  # values kept at full resolution, at least
COARSER = 32  # values kept at each coarser resolution, at least
SAMPLES = 8  # blocks from which the usual size of a part is read
PART = "loss/"

# Parts of a loss that is a game, or a reward: its level does not measure progress.
GAME = frozenset({"gan", "wgan", "adv", "adversarial", "disc", "discriminator", "critic", "generator"}) | {
    "actor",
    "policy",
    "reward",
}

Point = tuple[int, float]
Sample = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """The finite losses so far, each with its clock, and what each block of them was like.

    `levels` begins with the finest resolution; each next one has every second value of the one before.
    `medians` and `rates` are those of the last blocks, `first` and `best` of the first and the lowest one.
    """

    start: tuple[Point, ...] = ()
    levels: tuple[tuple[Point, ...], ...] = ()
    medians: tuple[float, ...] = ()
    rates: tuple[float, ...] = ()
    parts: tuple[Sample, ...] = ()
    first: float | None = None
    best: float | None = None
    is_game: bool = False


def add(trace: Trace, block: tuple[Point, ...], values: Mapping[str, float]) -> Trace:
    """Take a full block, and the last step's values beside the loss."""
    level = median(value for _, value in block)
    sample = tuple(
        (name, value) for name, value in values.items() if name.startswith(PART) and value - value == 0.0
    )
    rate = values.get("lr", 0.0)
    return Trace(
        trace.start or block[:FIRST],
        _thinned(trace.levels, block),
        (*trace.medians, level)[-BLOCKS:],
        (*trace.rates, rate if rate - rate == 0.0 else 0.0)[-BLOCKS:],
        (*trace.parts, sample)[-SAMPLES:],
        level if trace.first is None else trace.first,
        level if trace.best is None else min(level, trace.best),
        trace.is_game or _is_game(sample),
    )


def series(trace: Trace) -> tuple[Steps, Values]:
    """All values that are kept, oldest first, by their clocks."""
    kept = [point for level in reversed(trace.levels) for point in level]
    points = [point for point in trace.start if point[0] < kept[0][0]] + kept if kept else []
    return (
        np.array([at for at, _ in points], dtype=np.int64),
        np.array([value for _, value in points], dtype=np.float64),
    )


def lately(trace: Trace, block: tuple[Point, ...], count: int) -> tuple[Point, ...]:
    """The last values, with those of a block that is being gathered."""
    before = trace.levels[0] if trace.levels and len(block) < count else ()
    return (before + block)[-count:]


def until(trace: Trace, clock: int) -> Trace:
    """The trace as it was before a clock, as far as that is known."""
    levels = tuple(tuple(point for point in level if point[0] < clock) for level in trace.levels)
    gone = sum(len(before) - len(after) for before, after in zip(trace.levels[:1], levels, strict=False))
    blocks = min(len(trace.medians), -(-gone // BLOCK))
    keep = len(trace.medians) - blocks
    return Trace(
        tuple(point for point in trace.start if point[0] < clock),
        levels,
        trace.medians[:keep],
        trace.rates[:keep],
        trace.parts[: max(0, len(trace.parts) - blocks)],
        trace.first,
        trace.best,
        trace.is_game,
    )


def risen_part(trace: Trace, values: Mapping[str, float]) -> tuple[str, float, float] | None:
    """The part of the loss that rose the most: its name, its usual value, and its value."""
    usual: dict[str, list[float]] = {}
    for sample in trace.parts:
        for name, value in sample:
            usual.setdefault(name, []).append(value)
    rises = [
        (values[name] - median(before), name, median(before))
        for name, before in usual.items()
        if name in values and values[name] - values[name] == 0.0
    ]
    if len(rises) < 2 or max(rises)[0] <= 0.0:
        return None
    rise, name, before = max(rises)
    return name, before, before + rise


def _thinned(
    levels: tuple[tuple[Point, ...], ...], block: tuple[Point, ...]
) -> tuple[tuple[Point, ...], ...]:
    """The levels with a block more: what is too much for one goes on, every second value, to the next."""
    kept: list[tuple[Point, ...]] = []
    spill = block
    for number, level in enumerate((*levels, ())):
        level, spill = level + spill, ()
        most = COARSER if number else FINEST
        if len(level) > 2 * most:
            level, spill = level[-most:], level[:-most:2]
        if level:
            kept.append(level)
        if not spill:
            kept += levels[number + 1 :]
            break
    return tuple(kept)


def _is_game(sample: Sample) -> bool:
    return any(GAME & set(re.split(r"[^a-z]+", name.lower())) for name, _ in sample)
