"""The rules that read settings, asked again with the proposed value in place."""

from __future__ import annotations

from collections.abc import Iterable

from stethoscope.findings import Found
from stethoscope.review.claim import Fact, Judgement, Ruling
from stethoscope.review.question import Question

PLACE = 60

# A key that is not known or not read is judged elsewhere, a number written as text is only remarked.
_OTHERS = frozenset(
    {"unknown-setting", "unknown-argument", "setting-never-used", "setting-overwritten", "number-is-a-string"}
)


def judge(question: Question) -> Judgement | None:
    """Harmful where it brings a fault, refuted where the fault stays, supported where it takes one away."""
    if question.patient is None or question.changed is None:
        return None
    before = _about(question.patient.found_in_settings, question)
    after = _about(question.found_after, question)
    everywhere = {found.rule.name for found in question.patient.found_in_settings}
    new = [found for found in question.found_after if _is_new(found, everywhere)]
    if new:
        return _judgement(Ruling.HARMFUL, "it would bring a fault of its own", new)
    if after:
        return _judgement(Ruling.REFUTED, "what is wrong with this setting stays wrong", after)
    if before:
        return _judgement(Ruling.SUPPORTED, "it takes away what is wrong with this setting", before)
    return None


def remark(question: Question) -> Fact | None:
    """That the value, written as the document has it, is loaded as a text."""
    proposal = question.proposal
    is_text = proposal.syntax in {"yaml", "yml"} and _reads_as_text(proposal.to)
    if not is_text:
        return None
    return Fact(
        f"as written, YAML loads {proposal.to} as a text: write {_with_dot(proposal.to)}", (proposal.where,)
    )


def _reads_as_text(written: str) -> bool:
    head, e, _ = written.strip().lower().partition("e")
    return bool(e) and head.lstrip("+-").isdigit()


def _with_dot(written: str) -> str:
    head, _, tail = written.strip().lower().partition("e")
    return f"{head}.0e{tail}"


def _is_new(found: Found, everywhere: set[str]) -> bool:
    return found.rule.name not in everywhere and found.rule.name not in _OTHERS


def _about(found: Iterable[Found], question: Question) -> list[Found]:
    """The findings that speak of this setting."""
    names = (question.target.dotted, f" {question.target.leaf} ", f"{question.target.leaf} is ")
    return [
        one
        for one in found
        if one.rule.name not in _OTHERS and one.finding.message.startswith((names[0] + " ", names[2]))
    ]


def _judgement(ruling: Ruling, why: str, found: list[Found]) -> Judgement:
    facts = tuple(
        Fact(f"{one.rule.code} {one.rule.name}: {one.finding.message}", one.finding.places) for one in found
    )
    return Judgement(ruling, f"{why}: {found[0].finding.message}", facts)
