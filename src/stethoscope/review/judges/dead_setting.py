"""The setting reaches nothing that trains."""

from __future__ import annotations

from stethoscope.review.claim import Fact, Judgement, Ruling
from stethoscope.review.question import Question
from stethoscope.signals.training_plan import CODE

PLACE = 40


def judge(question: Question) -> Judgement | None:
    """No effect where the source reads the value for nothing, or has something else in its place."""
    if question.patient is None:
        return None
    return _never_used(question) or _not_in_effect(question) or _would_be_unused(question)


def _never_used(question: Question) -> Judgement | None:
    target, dead = question.target, question.patient.dead if question.patient else {}
    finding = dead.get(target.leaf) or dead.get(".".join(map(str, target.key[-2:])))
    if finding is None:
        return None
    return Judgement(
        Ruling.NO_EFFECT, f"it cannot act: {finding.message}", (Fact(finding.message, finding.places),)
    )


def _not_in_effect(question: Question) -> Judgement | None:
    """`gradient_accumulation_steps: 16` where every batch is an update of its own."""
    plan = question.patient.plan if question.patient else None
    target = question.target
    if plan is None or target.known is None or target.quantity not in plan.entries:
        return None
    entry = plan[target.quantity]
    if target.quantity == "accumulation" and plan.unmet_accumulation is not None:
        places = tuple(place for one in entry.in_effect if one.how == CODE for place in one.where)
        said = f"{target.dotted} asks for gathered gradients, and every batch is an update of its own"
        return Judgement(
            Ruling.NO_EFFECT, f"it cannot act: {said}", (Fact(said, (target.known.where, *places)),)
        )
    differs = entry.differs
    if differs is None:
        return None
    asked, taken = differs
    if asked.name != target.dotted:
        return None
    said = f"{asked.name} asks for {asked.amount.value:g}, and the source has {taken.amount.value}"
    return Judgement(
        Ruling.NO_EFFECT, f"it cannot act: {said}", (Fact(said, (target.known.where, *taken.where)),)
    )


def _would_be_unused(question: Question) -> Judgement | None:
    """A key that the run does not set, and that nothing in its source would read."""
    if question.target.known is not None or any(_is_kind(one.leaf) for one in question.siblings):
        return None
    unused = question.unused()
    if unused is None:
        return None
    said = f"nothing in the source reads {question.target.dotted}"
    return Judgement(Ruling.NO_EFFECT, f"it cannot act: {said}", (Fact(said, unused.mentions[:1]),))


def _is_kind(leaf: str) -> bool:
    return leaf in {"type", "name", "_target_", "class_path"}
