"""Weights that do not change although steps are taken."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.observation import Observation

MEASUREMENTS = 2  # in a row; one may have been of a step that something else held back


@dataclass(frozen=True, slots=True)
class Still:
    """How many measurements in a row found no change."""

    zeros: int = 0


def begin() -> Still:
    """Nothing measured so far."""
    return Still()


def update(state: Still, seen: Observation) -> tuple[Still, tuple[Happening, ...]]:
    """Judge one step; most steps have no measurement."""
    ratio = seen.values.get("update_ratio")
    if ratio is None or ratio != ratio:
        return state, ()
    if ratio != 0.0:
        return (Still() if state.zeros else state), ()
    rate = seen.values.get("lr")
    if seen.skipped or (rate is not None and not rate > 0.0):
        return state, ()
    state = Still(state.zeros + 1)
    return state, (_still(seen, rate),) if state.zeros == MEASUREMENTS else ()


def _still(seen: Observation, rate: float | None) -> Happening:
    at = "" if rate is None else f" at a learning rate of {rate:g}"
    return Happening(
        Kind.WEIGHTS_STAND_STILL,
        seen.step,
        Severity.WARNING,
        f"The weights did not change in {MEASUREMENTS} measured steps in a row, up to {seen.step:,}{at}.",
        "Steps are taken and the model stays as it is: the optimizer may hold other parameters than the "
        "model uses, gradients may be missing or zero, or changes may be too small for half precision.",
        "make the optimizer from the parameters of the model that is trained, after moving or wrapping it.",
        {"lr": rate, "measurements": MEASUREMENTS},
    )
