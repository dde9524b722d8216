"""The prescription considered the idea, and speaks against it."""

from __future__ import annotations

from stethoscope.prescription import NotRecommended
from stethoscope.prescription.considered import (
    bfloat16,
    gradient_clipping,
    learning_rate_schedule,
    loss_weight_scheduling,
)
from stethoscope.review.claim import Fact, Judgement, Ruling
from stethoscope.review.question import Question
from stethoscope.review.resolving import Target
from stethoscope.review.topics import is_of_loss_weights
from stethoscope.review.values import value_of

PLACE = 50

_OF_SCHEDULE = frozenset({"schedule", "milestones", "decay length"})
_SWITCHED_ON = (True, "norm", "value")


def judge(question: Question) -> Judgement | None:
    """No effect where the value is bounded away from the result, refuted where its reason does not hold."""
    if question.patient is None:
        return None
    case, target = question.patient.case, question.target
    if is_of_loss_weights(target.key):
        return _said(Ruling.NO_EFFECT, loss_weight_scheduling.consider(case))
    if target.quantity == "precision" and _asks_for_bf16(question):
        return _said(Ruling.REFUTED, bfloat16.consider(case))
    if target.quantity == "gradient clip" and question.value in _SWITCHED_ON and target.known is None:
        return _said(Ruling.NO_EFFECT, gradient_clipping.consider(case))
    if target.quantity in _OF_SCHEDULE or any(one.quantity == "schedule" for one in _same_section(question)):
        return _said(Ruling.REFUTED, learning_rate_schedule.consider(case))
    return None


def _asks_for_bf16(question: Question) -> bool:
    value = value_of(str(question.value))
    if "bf16" in question.target.leaf.lower() or "bfloat16" in question.target.leaf.lower():
        return value is True
    return isinstance(value, str) and "bf" in value.lower() and "16" in value


def _same_section(question: Question) -> list[Target]:
    above = question.target.key[:-1]
    return [one for one in question.siblings if above and one.key[:-1] == above]


def _said(ruling: Ruling, considered: NotRecommended | None) -> Judgement | None:
    if considered is None:
        return None
    return Judgement(
        ruling, considered.why, (Fact(f"{considered.what}: {considered.why}", considered.where),)
    )
