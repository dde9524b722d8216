"""The words promise one thing and the number does another: a smaller norm does not clip more gently."""

from __future__ import annotations

import re

from stethoscope.review.claim import DOWN, UP, Fact, Judgement, Ruling
from stethoscope.review.question import Question
from stethoscope.review.values import shown

PLACE = 75

_SOFTER = re.compile(
    r"\b(?:gentl\w*|soft\w*|loos\w*|weaker|milder|relax\w*)\b[^.]{0,20}\bclip\w*|\bclip\w*[^.]{0,20}\b(?:gentl|soft|loos|relax)\w*",
    re.IGNORECASE,
)
_HARDER = re.compile(
    r"\b(?:tight\w*|strong\w*|hard\w*|aggressiv\w*|strict\w*)\b[^.]{0,20}\bclip\w*", re.IGNORECASE
)


def judge(question: Question) -> Judgement | None:
    """Refuted where clipping is called gentler and its norm is lowered, or the other way round."""
    known = question.target.known
    if question.target.quantity != "gradient clip" or known is None:
        return None
    text, direction = question.proposal.text, question.target.direction
    if direction == DOWN and _SOFTER.search(text):
        said = "a smaller norm clips more often and harder, not more gently"
    elif direction == UP and _HARDER.search(text):
        said = "a larger norm clips less often and less hard"
    else:
        return None
    why = f"{said}: {known.dotted} goes from {shown(known.value)} to {shown(question.value)}"
    return Judgement(Ruling.REFUTED, why, (Fact(f"{known.dotted} is {shown(known.value)}", (known.where,)),))
