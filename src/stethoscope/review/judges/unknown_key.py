"""Neither the program nor its framework knows the key."""

from __future__ import annotations

from stethoscope.review.claim import Fact, Judgement, Ruling
from stethoscope.review.question import Question
from stethoscope.review.schemas import unknown_to_framework

PLACE = 30


def judge(question: Question) -> Judgement | None:
    """Unknown where the settings with the key in them would be told so."""
    if question.target.known is not None:
        return None
    if question.patient is None or question.patient.run.recipe is None:
        return unknown_to_framework(question)
    unknown = question.unknown()
    if unknown is None:
        return None
    meant = f"; did it mean {unknown.suggestion}?" if unknown.suggestion else ""
    history = f" ({unknown.history})" if unknown.history else ""
    stops = ", which refuses keys that it does not know" if unknown.strict else ""
    why = f"{question.target.dotted} is not known to {unknown.judge}{stops}{history}{meant}"
    places = (unknown.judge_where,) if unknown.judge_where else ()
    return Judgement(Ruling.UNKNOWN_KEY, why, (Fact(why, places, "run" if places else "schema"),))
