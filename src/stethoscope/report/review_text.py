"""The review for people: each claim with its ruling, what was missed, what contradicts, what was left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from stethoscope.report.address import address
from stethoscope.report.clean_text import one_line
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.palette import ADDRESS, AGAINST, FOR, HEADING
from stethoscope.report.review_words import SPOKEN, change_in_words, is_objection, summary
from stethoscope.review import Claim, Contradiction, Missed, Review, Ruling

UNPARSED_SHOWN = 3
FACTS_SHOWN = 2
LONGEST = 300


def render(review: Review, console: Console, *, verbose: bool = False) -> str:
    """The review as this console would show it."""
    return printed(_lines(review, verbose), console)


def _lines(review: Review, verbose: bool) -> Iterator[Line]:
    against = f" against {one_line(review.run, 120)} ({review.verdict})" if review.run else ", without a run"
    documents = ", ".join(one_line(one, 120) for one in review.documents)
    yield Line(Text.assemble((documents, HEADING), against, ". ", summary(review)), hang=2)
    for claim in review.claims:
        yield BLANK
        yield from _claim(claim, verbose)
    yield from _missed(review.missed)
    yield from _contradictions(review.contradictions)
    yield from _unparsed(review, verbose)
    for note in review.notes:
        yield Line(Text(f"{one_line(note)}."), hang=2)


def _claim(claim: Claim, verbose: bool) -> Iterator[Line]:
    style = AGAINST if is_objection(claim.ruling) else FOR if claim.ruling is Ruling.SUPPORTED else ""
    head = Text.assemble(
        (SPOKEN[claim.ruling], f"bold {style}".strip()), "  ", one_line(change_in_words(claim.change), 160)
    )
    head.append_text(address(claim.where, verbose))
    yield Line(head, hang=2)
    why = claim.judgement.why
    yield Line(Text(one_line(why) + ("" if why.endswith(("?", ".")) else ".")), indent=2, hang=2)
    facts = [fact for fact in claim.judgement.evidence if fact.what not in why and why not in fact.what]
    same = [fact for fact in claim.judgement.evidence if fact not in facts and fact.where]
    for fact in same[:1]:
        yield Line(Text.assemble("seen at", address(fact.where, verbose)), indent=4, hang=2)
    for fact in facts if verbose else facts[:FACTS_SHOWN]:
        label = "elsewhere: " if fact.source == "elsewhere" else ""
        places = () if fact.source == "elsewhere" else fact.where
        yield Line(
            Text.assemble(label, one_line(fact.what, LONGEST), address(places, verbose)), indent=4, hang=2
        )
    if claim.settle_by and (verbose or claim.ruling is Ruling.UNTESTED):
        yield Line(
            Text.assemble("to settle it: ", (one_line(claim.settle_by, 1000), ADDRESS)), indent=4, hang=2
        )


def _missed(missed: Sequence[Missed]) -> Iterator[Line]:
    if missed:
        yield BLANK
        yield Line(Text("Not mentioned, and found in the run", HEADING))
    for one in missed:
        told = Text(f"{one_line(one.title)} ({one.name}, {one.standing}): {one_line(one.why, LONGEST)}")
        told.append_text(address(one.where))
        yield Line(told, indent=2, hang=2)


def _contradictions(found: Sequence[Contradiction]) -> Iterator[Line]:
    if found:
        yield BLANK
        yield Line(Text("The documents contradict each other", HEADING))
    for one in found:
        sides = " | ".join(f"{one_line(value, 80)} ({one_line(where, 160)})" for _, value, where in one.sides)
        yield Line(Text(f"{one_line(one.key, 120)}: {sides}"), indent=2, hang=2)


def _unparsed(review: Review, verbose: bool) -> Iterator[Line]:
    if not review.unparsed:
        return
    yield BLANK
    number = len(review.unparsed)
    said = "1 sentence is" if number == 1 else f"{number:,} sentences are"
    yield Line(Text(f"Not judged: {said} neither a change of a setting nor a figure of a series."), hang=2)
    shown = review.unparsed if verbose else review.unparsed[:UNPARSED_SHOWN]
    for one in shown:
        told = Text(one_line(one.text, LONGEST if verbose else 120))
        told.append_text(address((one.where,)))
        yield Line(told, indent=2, hang=2)
    if number > len(shown):
        yield Line(Text(f"and {number - len(shown):,} more; --verbose lists them"), indent=2)
