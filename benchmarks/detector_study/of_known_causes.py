"""Detectors that hold a curve against something known: an epoch, a difficulty, a floor, another branch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from detector_study.curves import NOISES, Generator, Rows, power_law
from detector_study.study import Cell, Study
from stethoscope.detectors.confounding import given_difficulty
from stethoscope.detectors.loss_floor import double_softmax, double_softmax_floor
from stethoscope.detectors.peak import collapse
from stethoscope.detectors.phase_folding import fold
from stethoscope.detectors.replay import replay

LEVEL = 0.01
CLASSES, ACCURACY = 10, 0.95
MEMORIES = ("white", "AR(1) 0.5", "AR(1) 0.9", "AR(1) 0.95", "Student t3", "log-normal", "fading")


def studies() -> tuple[Study, ...]:
    """The studies of this file."""
    return (_fold(), _confounding(), _replay(), _floor(), _collapse())


def _fold() -> Study:
    """Periods are a fifth of the series, a tenth or a twentieth."""
    sizes = ((80, 16), (256, 32), (2000, 100))

    def shaped(height: float, period: int, falls: bool) -> Callable[[int], Rows]:
        def make(count: int) -> Rows:
            hard = np.where(np.arange(count) % period < 0.3 * period, height, 0.0)
            return hard + (10.0 * np.log(power_law(count)) if falls else 0.0)

        return make

    def cell(label: str, count: int, period: int, noise: str, make: Callable[[int], Rows]) -> Cell:
        def draw(rng: Generator, rows: int) -> list[tuple[Rows, int]]:
            return [
                (one, period) for one in (make(count) + NOISES[noise](rng, rows, count))[:, count // 10 :]
            ]

        return Cell(label, count, draw)

    return Study(
        "phase folding",
        "does every epoch repeat a shape",
        LEVEL,
        lambda drawn: (seen := fold(np.arange(len(drawn[0])), *drawn)) is not None and seen.p < LEVEL,
        tuple(
            cell(
                f"{'falling' if falls else 'flat'}, {noise}", count, period, noise, shaped(0.0, period, falls)
            )
            for falls in (False, True)
            for noise in MEMORIES
            for count, period in sizes
        ),
        tuple(
            cell(f"{height:g} sd in 3 of 10, {noise}", count, period, noise, shaped(height, period, False))
            for height in (0.5, 1.0, 2.0)
            for noise in ("white", "AR(1) 0.5", "AR(1) 0.9")
            for count, period in sizes
        ),
        repeats=300,
    )


def _confounding() -> Study:
    """The difficulty rises for two fifths of the run; relative noise of a tenth."""

    def cell(label: str, count: int, noise: str, own: float) -> Cell:
        ramp = np.minimum(1.0, 0.2 + 2.0 * np.arange(count) / count)
        behind = np.exp(own * np.maximum(0.0, np.arange(count) / count - 0.4) / 0.6)

        def draw(rng: Generator, rows: int) -> list[tuple[Rows, Rows]]:
            return [
                ((0.3 + ramp) * behind * np.exp(0.1 * one), ramp) for one in NOISES[noise](rng, rows, count)
            ]

        return Cell(f"{label}, {noise}", count, draw)

    counts = (40, 256, 2000)
    return Study(
        "confounding",
        "does the loss rise at equal difficulty",
        1e-3,
        lambda drawn: (
            (known := given_difficulty(np.arange(len(drawn[0])), *drawn)) is not None and known.rises_beyond
        ),
        tuple(cell("only the difficulty", n, noise, 0.0) for noise in MEMORIES for n in counts),
        tuple(
            cell(f"{np.exp(own):.1f} times beyond it", n, noise, own)
            for own in (0.2, 0.7)
            for noise in ("white", "AR(1) 0.5", "AR(1) 0.9")
            for n in counts
        ),
        repeats=400,
    )


def _replay() -> Study:
    """Two branches of one training; what is drawn is the noise of batches and that of arithmetic."""

    def cell(label: str, count: int, noise: str, shared: float) -> Cell:
        def draw(rng: Generator, rows: int) -> list[tuple[Rows, Rows]]:
            common = NOISES[noise](rng, rows, count)
            own = (NOISES[noise](rng, rows, count), NOISES[noise](rng, rows, count))
            mixed = [np.sqrt(shared) * common + np.sqrt(1.0 - shared) * one for one in own]
            return [(np.exp(0.2 * a), np.exp(0.2 * b)) for a, b in zip(*mixed, strict=True)]

        return Cell(f"{label}, {noise}", count, draw)

    def says(drawn: tuple[Rows, Rows]) -> bool:
        steps = np.arange(len(drawn[0]))
        seen = replay((steps, drawn[0]), (steps, drawn[1]))
        return seen is not None and seen.keeps_the_order

    counts = (12, 40, 200)
    return Study(
        "replay",
        "did the same batches come in the same order",
        1e-3,
        says,
        tuple(cell("other batches", n, noise, 0.0) for noise in MEMORIES for n in counts),
        tuple(
            cell(f"{share:.0%} of the variance shared", n, noise, share)
            for share in (0.5, 0.9)
            for noise in ("white", "log-normal")
            for n in counts
        ),
        repeats=2000,
    )


def _floor() -> Study:
    """Ten classes, 95 % of the answers right; healthy losses come to rest anywhere between 1 and 2."""

    def resting(noise: str, count: int) -> Cell:
        def draw(rng: Generator, rows: int) -> Rows:
            level = rng.uniform(1.0, 2.0, (rows, 1)) + 0.8 * np.exp(-8.0 * np.arange(count) / count)
            return level * (1.0 + rng.uniform(0.003, 0.05, (rows, 1)) * NOISES[noise](rng, rows, count))

        return Cell(f"rests between 1 and 2, {noise}", count, draw)

    def stuck(batch: int, count: int) -> Cell:
        def draw(rng: Generator, rows: int) -> Rows:
            wrong = 1.0 - ACCURACY + (ACCURACY - 1.0 / CLASSES) * np.exp(-8.0 * np.arange(count) / count)
            return double_softmax_floor(CLASSES) + rng.binomial(batch, wrong, (rows, count)) / batch

        return Cell(f"double softmax, batches of {batch}", count, draw)

    return Study(
        "double softmax floor",
        "does the loss stand on the floor of a double softmax",
        None,
        lambda y: double_softmax(y, CLASSES, ACCURACY) is not None,
        tuple(resting(noise, n) for noise in MEMORIES for n in (40, 256)),
        tuple(stuck(batch, n) for batch in (32, 256) for n in (40, 256)),
        repeats=2000,
    )


def _collapse() -> Study:
    """Fewer evaluations than `peak` can judge, higher being better, around 0.7 with a deviation of 0.05."""

    def cell(label: str, count: int, noise: str, make: Callable[[int], Rows]) -> Cell:
        return Cell(
            f"{label}, {noise}", count, lambda rng, rows: make(count) + 0.05 * NOISES[noise](rng, rows, count)
        )

    def collapsing(count: int) -> Rows:
        return np.where(np.arange(count) < count - 3, 0.7, 0.3)

    return Study(
        "collapse",
        "did the last of a few evaluations collapse",
        None,
        lambda y: collapse(np.arange(len(y)), y) is not None,
        tuple(
            cell(label, n, noise, make)
            for label, make in (
                ("flat", lambda n: np.full(n, 0.7)),
                ("rising", lambda n: np.linspace(0.4, 0.8, n)),
            )
            for noise in MEMORIES
            for n in (5, 8, 11)
        ),
        tuple(
            cell("from 0.7 to 0.3", n, noise, collapsing)
            for noise in ("white", "AR(1) 0.5")
            for n in (6, 8, 11)
        ),
        repeats=1000,
    )
