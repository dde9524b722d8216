"""Most noise levels of the training are far below the spread of the data, or far above it.

## What it checks
Settings for levels whose logarithm is normal (`P_mean`, `P_std`, as in EDM), beside the deviation of the
data (`sigma_data`, half where it is not set): whether more than half of all levels lie outside of a twentieth
to twenty times that deviation.

## Why it matters
Noise far below the data is no task: the input is the answer. Noise far above it leaves nothing to see, and
the mean of the data is the answer. What a sampler needs lies between the two, and is hardly ever trained.

## When it is harmless
Large pictures and video need more noise for the same loss of detail, so recipes go up to a mean of 1 at a
deviation of the data of 1; all of these have most of their levels in the range. A model of one end alone, as
an expert for high noise, is meant to be so.

## References
- Karras et al., "Elucidating the Design Space of Diffusion-Based Generative Models", 2022, section 5
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.run import Setting
from stethoscope.signals.settings import Settings

RULE = Rule(code="SET982", since="0.9", severity=Severity.WARNING, subject=Subject.SETTINGS)

MEANS = ("p_mean", "P_mean")
SPREADS = ("p_std", "P_std")
DATA = ("sigma_data", "std_data", "data_std")
USUAL_DATA = 0.5  # of pictures between -1 and 1
RANGE = 3.0  # in logarithms: a factor of twenty to either side
FEWEST = 0.5  # of all levels


def examine(settings: Settings) -> Iterator[Finding]:
    """Fire where most levels teach next to nothing."""
    mean, spread, data = (_only(settings, names) for names in (MEANS, SPREADS, DATA))
    if mean is None or spread is None:
        raise InsufficientData("no mean and deviation of logarithms of noise levels are set")
    deviation = _number(data) if data is not None else USUAL_DATA
    if deviation <= 0.0 or _number(spread) <= 0.0:
        return
    centre = math.log(deviation)
    inside = _below(centre + RANGE, mean, spread) - _below(centre - RANGE, mean, spread)
    if inside >= FEWEST:
        return
    side = "below" if _number(mean) < centre else "above"
    yield Finding(
        (mean.where, spread.where),
        f"{mean.dotted} is {_number(mean):g} and {spread.dotted} {_number(spread):g}: {1.0 - inside:.0%} of "
        f"all noise levels are far {side} the deviation of the data, {deviation:g}",
        evidence={"inside": inside, "mean": _number(mean), "spread": _number(spread), "data": deviation},
    )


def _only(settings: Settings, names: tuple[str, ...]) -> Setting | None:
    """The one setting of these names, where all that there are agree."""
    found = [one for one in settings.recipe.named(*names) if _is_number(one)]
    return found[0] if len({_number(one) for one in found}) == 1 else None


def _is_number(setting: Setting) -> bool:
    return isinstance(setting.value, int | float) and not isinstance(setting.value, bool)


def _number(setting: Setting) -> float:
    return float(setting.value) if isinstance(setting.value, int | float) else math.nan


def _below(level: float, mean: Setting, spread: Setting) -> float:
    """The share of levels whose logarithm is below a value."""
    return 0.5 * (1.0 + math.erf((level - _number(mean)) / (_number(spread) * math.sqrt(2.0))))
