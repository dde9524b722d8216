"""The two sides of an adversarial training: the discriminator's loss and the generator's against it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from stethoscope.run import Run, Series, Steps, Values
from stethoscope.signals.loss import words
from stethoscope.signals.missing import Missing

LOG_THIS = (
    'log({"step": step, "loss/d_real": d_real.item(), "loss/d_fake": d_fake.item(), "loss/gan": gan.item()})'
)
_JUDGE = frozenset({"d", "disc", "discriminator", "critic", "discrim"})
_PLAYER = frozenset({"g", "gan", "adv", "adversarial", "gen", "generator"})
_NOT_THE_GAME = frozenset(
    {"gp", "r1", "r2", "reg", "penalty", "fm", "feat", "feature", "rec", "recon", "l1", "pix", "lr"}
)
_SCORE = re.compile(
    r"(?:^|[_/.])(?:out|score|scores|pred|logit|logits|prob|d)[_/.](?:d[_/.])?(real|fake)s?(?:$|[_/.])", re.I
)


@dataclass(frozen=True, slots=True, eq=False)
class Adversaries:
    """The discriminator's loss, the mean of its terms where it has several, and the generator's against it.

    `real` and `fake` are the discriminator's outputs on both kinds of samples, where they were logged.
    """

    judge: Series
    player: Series | None
    real: Series | None
    fake: Series | None


def measure(run: Run) -> Adversaries | Missing:
    """Find the losses by the words of their names."""
    losses = {name: one.finite() for name, one in run.series.items() if name.startswith("loss/")}
    losses = {name: one for name, one in losses.items() if len(one) > 1}
    judge = _judge(losses)
    if judge is None:
        is_game = _player(losses) is not None
        return Missing("no loss of a discriminator was logged", LOG_THIS if is_game else "")
    return Adversaries(judge, _player(losses), _score(run, "real"), _score(run, "fake"))


def _judge(losses: Mapping[str, Series]) -> Series | None:
    of_judge = {
        name: one
        for name, one in losses.items()
        if words(name) & _JUDGE and not words(name) & (_NOT_THE_GAME | {"g", "gan", "gen", "generator"})
    }
    whole = [one for name, one in of_judge.items() if not words(name) & {"real", "fake"}]
    if whole:
        return max(whole, key=len)
    sides = [one for name, one in of_judge.items() if words(name) & {"real", "fake"}]
    return _mean(sides) if sides else None


def _player(losses: Mapping[str, Series]) -> Series | None:
    against = {
        name: one
        for name, one in losses.items()
        if words(name) & _PLAYER and not words(name) & (_NOT_THE_GAME | _JUDGE | {"real", "fake"})
    }
    # A term that names the game stands before the generator's whole loss, which holds other terms too.
    named = [one for name, one in against.items() if words(name) & {"gan", "adv", "adversarial"}]
    return max(named or list(against.values()), key=len, default=None)


def _mean(sides: Iterable[Series]) -> Series:
    first, *others = sorted(sides, key=len)
    steps: Steps = first.steps
    for other in others:
        steps = np.intersect1d(steps, other.steps)
    if len(steps) < 2:
        return first
    values: Values = np.mean([one.values[np.isin(one.steps, steps)] for one in (first, *others)], axis=0)
    return Series(first.name, first.logged_as, steps, values, first.file, first.aggregation, first.axis)


def _score(run: Run, side: str) -> Series | None:
    found = [
        one.finite()
        for name, one in run.series.items()
        if not name.startswith("loss/")
        and (match := _SCORE.search(one.logged_as))
        and match[1].lower() == side
    ]
    return max((one for one in found if len(one) > 1), key=len, default=None)
