"""Detectors of the learning rate and of the loss scaler, on simulated schedules and scalers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from detector_study.curves import Generator, Rows
from detector_study.study import Cell, Study
from stethoscope.detectors import scaler
from stethoscope.detectors.lr_jump import jumps
from stethoscope.detectors.schedule_shape import mismatch, shape

RUN = 10_000
STEPS = np.arange(0, RUN, 50)
FACTORS = {"processes": 4.0, "batches of an update": 8.0}
GROWTH = 200  # clean steps before a doubling: a tenth of torch's, as the paths are a tenth as long
PATH = 4000

Curve = Callable[[Rows], Rows]


def studies() -> tuple[Study, ...]:
    """The studies of this file."""
    return (_family(), _speed(), _jump(), _hazard(), _decline())


def _half_cosine(part: Rows) -> Rows:
    return 0.5 * (1.0 + np.cos(np.pi * np.clip(part, 0.0, 1.0)))


# What is left of the rate, by the part of the decay that is over.
DECAYS: dict[str, Curve] = {
    "linear": lambda part: 1.0 - np.clip(part, 0.0, 1.0),
    "cosine": _half_cosine,
    "exponential": lambda part: 0.02**part,
    "polynomial": lambda part: (1.0 - np.clip(part, 0.0, 1.0)) ** 2,
    "step": lambda part: 0.1 ** np.floor(3.0 * np.clip(part, 0.0, 0.999)),
}
PRINTS = ("full", "1.23e-04", "0.000123")


def _printed(rates: Rows, how: str) -> Rows:
    if how == "full":
        return rates
    if how == "1.23e-04":
        return np.array([float(f"{rate:.2e}") for rate in rates.tolist()])
    return np.round(rates, 6)


def _rates(rng: Generator, family: str, printed: str, speed: float) -> tuple[str, Rows, float]:
    """A random schedule of a family, which takes `speed` times as long as the run."""
    peak = 10.0 ** rng.uniform(-3.5, -2.0)
    warm_up = speed * rng.choice([0.0, rng.uniform(200.0, 800.0)])
    left = speed * RUN - warm_up
    rising = STEPS / warm_up if warm_up else np.ones(len(STEPS))
    rates = np.where(warm_up > STEPS, rising, DECAYS[family](np.maximum(STEPS - warm_up, 0.0) / left))
    return family, _printed(peak * rates, printed), speed * RUN


def _schedules(
    family: str, printed: str, speed: float
) -> Callable[[Generator, int], list[tuple[str, Rows, float]]]:
    return lambda rng, rows: [_rates(rng, family, printed, speed) for _ in range(rows)]


def _family() -> Study:
    """The error is to name another family; a rate that fits none has no name. The tests hold every family."""
    return Study(
        "schedule family",
        "is a schedule taken for one of another family",
        0.01,
        lambda drawn: (seen := shape(STEPS, drawn[1])) is not None and seen.family != drawn[0],
        tuple(Cell(f"{f}, {p}", len(STEPS), _schedules(f, p, 1.0)) for f in DECAYS for p in PRINTS),
        (),
        repeats=60,
    )


def _speed() -> Study:
    def says(drawn: tuple[str, Rows, float]) -> bool:
        seen = shape(STEPS, drawn[1])
        if seen is None or seen.length is None or seen.warm_up is None:
            return False
        return mismatch(seen.warm_up + seen.length, float(STEPS[-1]), FACTORS, 0.03) is not None

    kept = ("linear", "cosine", "polynomial")
    return Study(
        "schedule speed",
        "does the schedule take a number of the training times as long as the run",
        0.01,
        says,
        (
            *(Cell(f"{f}, {p}", len(STEPS), _schedules(f, p, 1.0)) for f in DECAYS for p in PRINTS),
            *(Cell(f"{f}, 3 times slower by choice", len(STEPS), _schedules(f, "full", 3.0)) for f in kept),
        ),
        tuple(
            Cell(f"{f}, {s:g} times as long, {p}", len(STEPS), _schedules(f, p, s))
            for f in kept
            for s in (0.25, 4.0)
            for p in PRINTS
        ),
        repeats=60,
    )


def _jump() -> Study:
    def restarted(family: str) -> Callable[[Generator, int], list[Rows]]:
        def draw(rng: Generator, rows: int) -> list[Rows]:
            found = []
            for _ in range(rows):
                rates = _rates(rng, family, "full", 1.0)[1]
                at = int(rng.uniform(0.4, 0.9) * len(rates))
                found.append(np.concatenate([rates[:at], rates[: len(rates) - at]]))
            return found

        return draw

    def plain(family: str, printed: str) -> Callable[[Generator, int], list[Rows]]:
        return lambda rng, rows: [_rates(rng, family, printed, 1.0)[1] for _ in range(rows)]

    def cycles(rng: Generator, rows: int) -> list[Rows]:
        return [
            _half_cosine((STEPS % period) / period) for period in rng.uniform(1500.0, 3300.0, rows).tolist()
        ]

    return Study(
        "rate jump",
        "does the rate leap up in mid-run, for no cycle",
        None,
        lambda rates: any(not one.cyclic for one in jumps(STEPS, rates)),
        (
            *(Cell(f"{f}, {p}", len(STEPS), plain(f, p)) for f in DECAYS for p in PRINTS),
            Cell("warm restarts", len(STEPS), cycles),
        ),
        tuple(Cell(f"{f}, begun anew", len(STEPS), restarted(f)) for f in DECAYS if f != "exponential"),
        repeats=100,
    )


def _scaler_path(rng: Generator, overflows: Callable[[int, float, float], bool]) -> Rows:
    octave, clean, path = 16, 0, []
    draws, uniform = rng.standard_normal(PATH).tolist(), rng.random(PATH).tolist()
    for normal, chance in zip(draws, uniform, strict=True):
        if overflows(octave, normal, chance):
            octave, clean = octave - 1, 0
        elif (clean := clean + 1) == GROWTH:
            octave, clean = octave + 1, 0
        path.append(2.0**octave)
    return np.array(path)


def _backward(ceiling: float, spread: float) -> Callable[[Generator, int], list[Rows]]:
    """Gradients of log-normal size overflow above a ceiling: the more the higher the scale."""
    return lambda rng, rows: [
        _scaler_path(rng, lambda octave, normal, _: octave > ceiling + spread * normal) for _ in range(rows)
    ]


def _forward(rate: float) -> Callable[[Generator, int], list[Rows]]:
    """A share of the steps overflows at any scale."""
    return lambda rng, rows: [_scaler_path(rng, lambda _, __, chance: chance < rate) for _ in range(rows)]


def _path(scale: Rows) -> scaler.ScalerPath:
    return scaler.path(np.arange(len(scale)), scale, GROWTH)


def _hazard() -> Study:
    def says(scale: Rows) -> bool:
        seen = scaler.hazard(scaler.after_search(_path(scale)))
        return seen is not None and seen.rises_with_scale

    return Study(
        "hazard of the scaler",
        "does a smaller scale make overflows rarer (healthy: it does not, they are in the forward pass)",
        0.01,
        says,
        tuple(Cell(f"forward, 1 in {round(1 / p)}", PATH, _forward(p)) for p in (1e-3, 2e-3, 5e-3, 2e-2)),
        tuple(
            Cell(f"backward, spread of {spread:g} octaves", PATH, _backward(14.0, spread))
            for spread in (0.25, 0.5, 1.0, 2.0)
        ),
        repeats=150,
    )


def _decline() -> Study:
    critical = scaler.critical_rate(GROWTH)
    return Study(
        "decline of the scaler",
        "do overflows come faster than growth can repair",
        0.025,
        lambda scale: scaler.decline(_path(scale)) is not None,
        (
            *(
                Cell(f"ceiling of 2^{ceiling:g}, spread {spread:g}", PATH, _backward(ceiling, spread))
                for ceiling in (8.0, 14.0, 24.0)
                for spread in (0.25, 1.0, 2.0)
            ),
            Cell("forward, half of the critical rate", PATH, _forward(0.5 * critical)),
        ),
        tuple(
            Cell(f"forward, {times:g} times the critical rate", PATH, _forward(times * critical))
            for times in (2.0, 4.0, 8.0)
        ),
        repeats=150,
    )
