"""The run has the value already."""

from __future__ import annotations

from stethoscope.review.claim import Fact, Judgement, Ruling
from stethoscope.review.question import Question
from stethoscope.review.resolving import BY_QUANTITY
from stethoscope.review.values import same, shown

PLACE = 20


def judge(question: Question) -> Judgement | None:
    """No effect where the value is the one in use; that nothing reads it makes it no better."""
    known = question.target.known
    if known is None or not question.has_value or not same(known.value, question.value):
        return None
    if question.target.how == BY_QUANTITY and isinstance(known.value, bool) != isinstance(
        question.value, bool
    ):
        return None  # `max_norm: 1` is not `grad_clip: true`
    stated = f"already set: {known.dotted} is {shown(known.value)}"
    if known.is_default:
        stated = f"already so: {shown(known.value)} is the default of {known.dotted}"
    dead = question.patient.dead.get(question.target.leaf) if question.patient else None
    facts = (Fact(stated, (known.where,)),)
    if dead is not None:
        return Judgement(
            Ruling.NO_EFFECT, f"{stated}; and {dead.message}", (*facts, Fact(dead.message, dead.places))
        )
    return Judgement(Ruling.NO_EFFECT, stated, facts)
