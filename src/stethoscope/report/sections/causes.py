"""The causes: those that stand with all their evidence, the others with why they did not carry."""

from __future__ import annotations

from collections.abc import Iterator, Set

from rich.text import Text

from stethoscope.causes import Argument, Explanation, Means, RankedCause, Standing, speaks_against
from stethoscope.causes.verdict import stands
from stethoscope.findings import Finding
from stethoscope.report.address import address
from stethoscope.report.clean_text import one_line
from stethoscope.report.line import BLANK, Line
from stethoscope.report.palette import AGAINST, FOR, HEADING
from stethoscope.report.short_list import short_list
from stethoscope.report.words import certainty, chance

LIKELY = 0.3  # the chance from which a merely plausible cause is shown with its evidence
CAUSES_NAMED = 3  # behind a question
FINDINGS_SHOWN = 4  # of one rule; a person reads the first few


def probable(explanation: Explanation, verbose: bool) -> Iterator[Line]:
    """The causes that stand or are likely, with what speaks for and against each."""
    told: set[Finding] = set()
    for number, cause in enumerate(filter(is_probable, explanation.causes), start=1):
        if number > 1:
            yield BLANK
        yield from _cause(number, cause, told, verbose)
        for argument in (*cause.arguments_for, *cause.arguments_against):
            told.update(argument.findings)


def heading(explanation: Explanation) -> str:
    """What the causes are called together: sure of one, or of none."""
    return "What is wrong" if any(map(stands, explanation.causes)) else "What may be wrong"


def unlikely(explanation: Explanation, verbose: bool) -> Iterator[Line]:
    """Explanations that were weighed and did not carry, each with what speaks against it."""
    others = [cause for cause in explanation.causes if not is_probable(cause)]
    yield from short_list(others, _did_not_carry, verbose)


def questions(explanation: Explanation) -> Iterator[Line]:
    """The most telling thing to try and to log, each with the causes that it decides about."""
    for means in Means:
        question = next((one for one in explanation.ask if one.means is means), None)
        if question is not None:
            about = ", ".join(question.decides[:CAUSES_NAMED])
            told = f"{one_line(question.what)} (to {means.value}, about {about})"
            yield Line(Text(told), indent=2, hang=2)


def title_of(cause: RankedCause) -> str:
    """The cause in a sentence without its full stop."""
    return one_line(cause.entry.cause.title).rstrip(".")


def is_probable(cause: RankedCause) -> bool:
    """Whether a cause stands, or is likely enough to be shown with its evidence."""
    seen = any(argument.finding for argument in cause.arguments_for)
    return stands(cause) or (cause.standing is Standing.PLAUSIBLE and cause.probability >= LIKELY and seen)


def _cause(number: int, cause: RankedCause, told: Set[Finding], verbose: bool) -> Iterator[Line]:
    yield Line(Text(title_of(cause), style=HEADING), indent=2, bullet=f"{number}. ")
    root = f", a consequence of {cause.consequence_of}" if cause.consequence_of else ""
    yield Line(Text(f"{cause.name}: {cause.standing.value} ({chance(cause.probability)}){root}"), indent=5)
    for argument in (*cause.arguments_for, *cause.arguments_against):
        yield from _argument(argument, told, verbose)
    if cause.standing is not Standing.PROVED:
        yield Line(Text(f"To confirm: {one_line(cause.entry.cause.confirm_by)}"), indent=5, hang=2)
        if against := speaks_against(cause):
            yield Line(Text(f"It is refuted if: {one_line(against)}"), indent=5, hang=2)


def _argument(argument: Argument, told: Set[Finding], verbose: bool) -> Iterator[Line]:
    """What speaks for or against a cause; findings that were told above only by their address."""
    sign, colour = ("+ ", FOR) if argument.weight > 0 else ("- ", AGAINST)
    weight = f" ({argument.rule}, weight {argument.weight:+.1f})" if verbose else ""
    reason = Text.assemble((sign, colour), one_line(argument.reason), weight)
    untold = [finding for finding in argument.findings if finding not in told]
    if not untold:
        yield Line(reason + address(argument.where, verbose), indent=5, hang=2)
        return
    yield Line(reason, indent=5, hang=2)
    for finding in untold if verbose else untold[:FINDINGS_SHOWN]:
        yield Line(Text(one_line(finding.message)) + address(finding.places, verbose), indent=7)
        if finding.proof:
            yield Line(Text(f"proof: {one_line(finding.proof)}"), indent=7, hang=2)
    if len(untold) > FINDINGS_SHOWN and not verbose:
        yield Line(Text(f"and {len(untold) - FINDINGS_SHOWN} more; --verbose shows them"), indent=7)


def _did_not_carry(cause: RankedCause) -> Iterator[Line]:
    """The strongest argument against it; where there is none, the little that speaks for it."""
    against = min(cause.arguments_against, key=_weight, default=None)
    argument = against or max(cause.arguments_for, key=_weight)
    side = "against" if against else "for"
    heading = f"{title_of(cause)} ({certainty(cause.standing, cause.probability)}); "
    yield Line(
        Text(f"{heading}{side} it: {one_line(argument.reason)}") + address(argument.where), indent=2, hang=2
    )


def _weight(argument: Argument) -> float:
    return argument.weight
