"""Fixed bounds that a person has set: told once each time a quantity goes beyond one."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.guard.happening import Answer, Happening, Kind, Severity
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import Policy, Threshold


@dataclass(frozen=True, slots=True)
class Beyond:
    """The bounds that quantities stand beyond, as "name bound"."""

    bounds: tuple[str, ...] = ()


def begin() -> Beyond:
    """Nothing beyond any bound."""
    return Beyond()


def update(state: Beyond, seen: Observation, policy: Policy) -> tuple[Beyond, tuple[Happening, ...]]:
    """Judge one step. NaN is beyond no bound, and leaves things as they are; infinity is."""
    if not policy.thresholds:
        return state, ()
    bounds, told = list(state.bounds), []
    for name, threshold in policy.thresholds.items():
        value = seen.values.get(name)
        if value is None or value != value:
            continue
        for key, bound, crossed, stops in _bounds(name, threshold, value):
            if crossed and key not in bounds:
                bounds.append(key)
                told.append(_crossed(seen, name, key, value, bound, stops))
            elif not crossed and key in bounds:
                bounds.remove(key)
    return (state, ()) if tuple(bounds) == state.bounds else (Beyond(tuple(bounds)), tuple(told))


def _bounds(name: str, threshold: Threshold, value: float) -> list[tuple[str, float, bool, bool]]:
    """For each bound that is set: its key, itself, whether the value is beyond it, whether it stops."""
    bounds = (
        ("warn_below", threshold.warn_below, False),
        ("warn_above", threshold.warn_above, False),
        ("stop_below", threshold.stop_below, True),
        ("stop_above", threshold.stop_above, True),
    )
    return [
        (f"{name} {side}", bound, value < bound if side.endswith("below") else value > bound, stops)
        for side, bound, stops in bounds
        if bound is not None
    ]


def _crossed(seen: Observation, name: str, key: str, value: float, bound: float, stops: bool) -> Happening:
    side = "below" if key.endswith("below") else "above"
    finite = value - value == 0.0
    return Happening(
        Kind.THRESHOLD,
        seen.step,
        Severity.CRITICAL if stops else Severity.WARNING,
        f"{name} is {value:g} at step {seen.step:,}, {side} the bound of {bound:g} that was set for it.",
        "The run is stopped because the bound says so." if stops else "",
        facts={"which": key, "name": name, "value": value if finite else str(value), "bound": bound},
        answer=Answer.STOP if stops else Answer.NONE,
    )
