"""Weigh the arguments about a cause: a sum of log-odds, a chance, and how far it carries."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

from stethoscope.causes.calibration import TEMPERATURE
from stethoscope.causes.cause import CURVE_FAMILIES, DECISIVE, STRONG, Argument, Standing

FAMILY_CAP = 3.0  # what one family of curves can add or take away, in log-odds
CURVES_CAP = 4.0  # what all curves together can

SUPPORTED_FROM = 0.6  # the chance from which a cause counts as supported, given one strong argument
NEARLY = 0.8  # an argument seen this clearly still counts as strong, or decisive


def total(arguments: Iterable[Argument]) -> float:
    """The sum of the weights, with the shapes of curves capped per family and together."""
    shapes: dict[str, list[float]] = defaultdict(list)
    others = 0.0
    for argument in arguments:
        if argument.family in CURVE_FAMILIES and not _is_proof(argument):
            shapes[argument.family].append(argument.weight)
        else:
            others += argument.weight
    return _capped(sum(map(_of_family, shapes.values())), CURVES_CAP) + others


def _of_family(weights: list[float]) -> float:
    """What one family adds: weak signs in it say much the same, and one that decides repeats nothing."""
    whole = sum(weights)
    decides = any(weight * whole > 0.0 and abs(weight) >= DECISIVE * NEARLY for weight in weights)
    return _capped(whole, CURVES_CAP if decides else FAMILY_CAP)


def _is_proof(argument: Argument) -> bool:
    """Whether a finding that is certain decides by itself: a scale of exactly zero is no mere shape."""
    certain = argument.finding is not None and bool(argument.finding.proof)
    return certain and abs(argument.weight) >= DECISIVE * NEARLY


def _capped(value: float, cap: float) -> float:
    return max(-cap, min(cap, value))


def chance(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-_capped(log_odds, 30.0)))


def standing_of(
    probability: float, speaking_for: tuple[Argument, ...], speaking_against: tuple[Argument, ...]
) -> Standing:
    if probability >= SUPPORTED_FROM and any(map(_is_proof, speaking_for)):
        return Standing.PROVED
    if probability >= SUPPORTED_FROM and any(a.weight >= STRONG * NEARLY for a in speaking_for):
        return Standing.SUPPORTED
    outweighed = total(speaking_for) + total(speaking_against) < 0
    return Standing.CONTRADICTED if speaking_against and outweighed else Standing.PLAUSIBLE


def stated(probability: float) -> float:
    """A probability as it is told to people: less sure of itself by the temperature that was fitted."""
    p = _capped(probability, 1 - 1e-13)
    return chance(math.log(p / (1 - p)) / TEMPERATURE) if p > 0 else 0.0
