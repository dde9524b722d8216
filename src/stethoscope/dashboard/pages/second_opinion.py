"""What is said of a document: a ruling on every proposed change, and what it does not mention."""

from __future__ import annotations

from collections.abc import Sequence

from stethoscope.dashboard.pages.frame import notice
from stethoscope.report import review_words as words
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.markup import NOTHING, Child, Markup, element, joined
from stethoscope.report.html.places import Atlas, places
from stethoscope.report.html.tables import table
from stethoscope.report.words import count, percent
from stethoscope.review import Claim, Contradiction, Missed, Review, Unparsed

NO_PLACES = Atlas()
MOST_UNPARSED = 200


def content(review: Review) -> Markup:
    """The rulings, what was missed, what contradicts itself, and what nobody judged."""
    return joined(
        _counts(review),
        element("ul", [_claim(one) for one in review.claims], class_="findings claims"),
        _missed(review.missed),
        _contradictions(review.contradictions),
        _unparsed(review.unparsed),
        *(notice(one) for one in review.notes),
    )


def _counts(review: Review) -> Markup:
    against = "" if review.run else " No run was chosen, so little of it could be looked up."
    return element("p", f"{words.summary(review)}{against}")


def _claim(claim: Claim) -> Markup:
    parts: list[Child] = [
        element("span", words.SPOKEN[claim.ruling], class_=f"badge ruling {claim.ruling.value}"),
        " ",
        element("strong", one_line(words.change_in_words(claim.change), 300)),
        element("blockquote", one_line(claim.text, 400)),
        element("p", claim.judgement.why, *_where_it_is_said(claim)),
    ]
    others = [fact for fact in claim.judgement.evidence if fact.what != claim.judgement.why]
    facts = [element("li", fact.what, places(fact.where, NO_PLACES)) for fact in others]
    if facts:
        parts.append(element("ul", facts))
    if claim.settle_by:
        parts.append(element("p", "What would settle it: ", element("code", claim.settle_by), class_="faint"))
    parts.append(places(claim.where, NO_PLACES))
    return element("li", parts)


def _where_it_is_said(claim: Claim) -> list[Markup]:
    """The address of a fact that says no more than the ruling itself."""
    said = claim.judgement.why
    return [places(fact.where, NO_PLACES) for fact in claim.judgement.evidence if fact.what == said]


def _missed(missed: Sequence[Missed]) -> Markup:
    if not missed:
        return NOTHING
    rows = [
        element(
            "li",
            element("strong", one.title),
            f" ({one.standing}, {percent(one.probability)}): {one_line(one.why)}",
            places(one.where, NO_PLACES),
        )
        for one in missed
    ]
    return joined(element("h2", "What the document does not mention"), element("ul", rows))


def _contradictions(contradictions: Sequence[Contradiction]) -> Markup:
    if not contradictions:
        return NOTHING
    rows = [(one.key, "; ".join(f"{value} ({doc})" for doc, value, _ in one.sides)) for one in contradictions]
    return joined(element("h2", "Contradictions"), table(("setting", "values"), rows))


def _unparsed(unparsed: Sequence[Unparsed]) -> Markup:
    if not unparsed:
        return NOTHING
    rows = [element("li", one_line(one.text, 400)) for one in unparsed[:MOST_UNPARSED]]
    return element(
        "details", element("summary", f"{count(len(unparsed), 'sentence')} not judged"), element("ul", rows)
    )
