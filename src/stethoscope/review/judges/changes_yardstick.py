"""The change moves what the loss or the metric measures, so that better numbers say nothing."""

from __future__ import annotations

import math

import numpy as np

from stethoscope.review.claim import Fact, Judgement, Ruling
from stethoscope.review.question import Question
from stethoscope.review.topics import is_of_measuring
from stethoscope.review.values import shown
from stethoscope.signals import Missing
from stethoscope.signals.masked_diffusion import MaskedDiffusion, measure

PLACE = 70

ALL_MASKED = 0.99  # of the tokens: from here on training meets the state that sampling begins with
_FOLLOWS = "validation-follows-curriculum"


def judge(question: Question) -> Judgement | None:
    """Noise, difficulty and validation are the task itself, and not a way of learning it."""
    quantity, key = question.target.quantity, question.target.key
    if question.target.known is None and question.patient is not None:
        return None
    if quantity == "noise schedule":
        return _of_noise(question)
    if quantity == "curriculum":
        return _of_difficulty(question)
    if is_of_measuring(key):
        why = f"{question.target.dotted} decides what is measured: scores before and after do not compare"
        return Judgement(Ruling.CHANGES_YARDSTICK, why, _here(question))
    return None


def _of_noise(question: Question) -> Judgement:
    why = "the noise is the task: with another range the loss is higher or lower by construction"
    told = _masked(question)
    if told is None:
        return Judgement(Ruling.CHANGES_YARDSTICK, why, _here(question))
    guessing = [float(one.chance(np.ones(1))[0]) for one in told]
    fact = Fact(
        f"guessing loses {guessing[0]:.3g} before the change and {guessing[1]:.3g} after it",
        (told[0].tokens.where,),
    )
    reach = [-math.expm1(-one.sigma_max) for one in told]
    if reach[1] < reach[0] and reach[1] < ALL_MASKED:
        said = (
            f"training would mask at most {reach[1]:.0%} of the tokens instead of {reach[0]:.0%}, "
            f"while sampling begins"
            f" with all of them masked; the loss of guessing falls from {guessing[0]:.3g} to "
            f"{guessing[1]:.3g} by construction"
        )
        return Judgement(Ruling.HARMFUL, said, (fact, *_here(question)))
    return Judgement(Ruling.CHANGES_YARDSTICK, f"{why}: {fact.what}", (fact, *_here(question)))


def _masked(question: Question) -> tuple[MaskedDiffusion, MaskedDiffusion] | None:
    """The masked diffusion before and after, where the settings describe one."""
    if question.patient is None or question.changed is None:
        return None
    before, after = measure(question.patient.run), measure(question.changed)
    return None if isinstance(before, Missing) or isinstance(after, Missing) else (before, after)


def _of_difficulty(question: Question) -> Judgement:
    why = "the difficulty is part of what the loss measures: with another ramp it is another loss"
    found = question.patient.case.finding(_FOLLOWS) if question.patient else None
    if found is not None:
        why = f"{why}, and validation follows the same ramp"
        return Judgement(Ruling.CHANGES_YARDSTICK, why, (Fact(found.message, found.places), *_here(question)))
    return Judgement(Ruling.CHANGES_YARDSTICK, why, _here(question))


def _here(question: Question) -> tuple[Fact, ...]:
    known = question.target.known
    return (Fact(f"{known.dotted} is {shown(known.value)}", (known.where,)),) if known else ()
