"""The discriminator learns many times faster than the generator.

## What it checks
The learning rates of both networks and how many updates the discriminator has for each of the generator's,
as the settings have them.

## Why it matters
What the discriminator gains on the generator in each round adds up. Without a penalty on its gradient
nothing holds it back, and once it is always right the generator gets no direction from it.

## When it is harmless
Two time scales with a factor of four are in common use. Wasserstein critics take five updates to one and
are meant to be ahead. A gradient penalty, spectral norm or a hinge loss holds a fast discriminator; where
the settings speak of one, nothing is said.

## References
- Heusel et al., GANs Trained by a Two Time-Scale Update Rule, 2017: rates of 4e-4 and 1e-4
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.run import Setting
from stethoscope.signals.settings import Settings

RULE = Rule(code="SET132", since="0.3", severity=Severity.WARNING, subject=Subject.SETTINGS)

TIMES = 16.0  # rate and updates together; four times the rate is in common use, and twice of that too
OVERWHELMING = 64.0
_RATE = re.compile(r"^(?:lr|learning_rate|base_lr|max_lr)$")
_JUDGE = re.compile(r"(?:^|[_.])(?:d|disc|discriminator|critic|netd|net_d|optim_d|optimizer_d)(?:$|[_.])")
_PLAYER = re.compile(r"(?:^|[_.])(?:g|gen|generator|netg|net_g|optim_g|optimizer_g)(?:$|[_.])")
_UPDATES = re.compile(
    r"^(?:net_d_iters|n_critic|n_disc?|d_steps|disc_steps|critic_iters|d_iters|num_d_steps|d_updates)$"
)
_HELD = re.compile(
    r"(?:^|[_.])(?:r1|r2|gp|gradient_penalty)(?:_(?:weight|lambda|gamma|reg\w*|coeff?|opt))?"
    r"(?:\.\w*weight)?(?:$| )"
    r"|(?:lambda|gamma|weight)_(?:r1|r2|gp)|spectral|wgan|wasserstein|hinge"
)


def examine(settings: Settings) -> Iterator[Finding]:
    """Fire where rate and number of updates favour the discriminator beyond what is in use."""
    judge, player = _rate(settings, _JUDGE), _rate(settings, _PLAYER)
    if judge is None or player is None:
        raise InsufficientData(
            "the settings do not name one rate for a discriminator and one for a generator"
        )
    updates = next((one for one in settings if _UPDATES.match(one.leaf.lower()) and _positive(one)), None)
    often = _positive(updates) if updates is not None else 1.0
    times = _positive(judge) / _positive(player) * often
    if times < TIMES or _is_held(settings):
        return
    more = f", which is updated {often:g} times to the other's once" if often > 1 else ""
    yield Finding(
        (judge.where, player.where, *((updates.where,) if updates is not None else ())),
        f"{judge.dotted} is {judge.value} and {player.dotted} is {player.value}{more}: the discriminator "
        f"learns {times:.0f} times faster, and nothing holds it back",
        evidence={"times": times},
        strength=1.0 if times >= OVERWHELMING else 0.75,
    )


def _rate(settings: Iterable[Setting], whose: re.Pattern[str]) -> Setting | None:
    """The one learning rate of a network: `lr_d`, `optim_d.lr`, `discriminator.learning_rate`."""
    found: dict[float, Setting] = {}
    for one in settings:
        key = one.dotted.lower()
        bare = whose.sub("_", key.rpartition(".")[2]).strip("_")
        is_rate = _RATE.match(one.leaf.lower()) or _RATE.match(bare)
        if is_rate and whose.search(key) and _positive(one):
            found.setdefault(_positive(one), one)
    return next(iter(found.values())) if len(found) == 1 else None


def _positive(one: Setting | None) -> float:
    value = one.value if one is not None else None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return 0.0
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0.0
    )


def _is_held(settings: Iterable[Setting]) -> bool:
    """Whether a setting switches something on that keeps a discriminator in bounds."""
    for one in settings:
        spoken = f"{one.dotted} {one.value}".lower() if isinstance(one.value, str) else one.dotted.lower()
        if _HELD.search(spoken) and one.value not in (0, 0.0, False, None, "", "none", "null"):
            return True
    return False
