"""A trial of this very run tried the change."""

from __future__ import annotations

from stethoscope.review.claim import Fact, Judgement, Ruling
from stethoscope.review.question import Question
from stethoscope.review.values import same
from stethoscope.run import Proof, Where

PLACE = 10


def judge(question: Question) -> Judgement | None:
    """What the trial beside the run found about the same key and value."""
    for proof in question.patient.run.proofs if question.patient else ():
        if any(_is_it(key, value, question) for key, value in proof.settings) and len(proof.settings) == 1:
            ruling = _ruling(proof)
            if ruling is not None:
                fact = Fact(f"{proof.spoken}: {proof.why}", (Where(proof.file),), "trial")
                return Judgement(ruling, f"tried on this training: {proof.spoken}", (fact,))
    return None


def _is_it(key: str, value: str, question: Question) -> bool:
    name = key.lstrip("-").replace("-", "_")
    dotted = question.target.dotted
    return (dotted == name or dotted.endswith(f".{name}")) and same(value, question.value)


def _ruling(proof: Proof) -> Ruling | None:
    if proof.helps:
        return Ruling.SUPPORTED
    by_class = {
        "harmful": Ruling.HARMFUL,
        "changes the yardstick": Ruling.CHANGES_YARDSTICK,
        "no effect": Ruling.NO_EFFECT,
        "cannot be applied": Ruling.REFUTED,
    }
    return next((by_class[one] for one in proof.classes if one in by_class), None)
