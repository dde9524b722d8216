"""The causes as an argument: what speaks for each, what against it, and what would settle it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stethoscope.causes import Argument, Explanation, Means, Question, RankedCause, Standing, speaks_against
from stethoscope.findings import Finding, Found
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.anchors import CAUSES
from stethoscope.report.html.markup import NOTHING, Child, Markup, element, joined, link
from stethoscope.report.html.places import Atlas, cause_link, places
from stethoscope.report.sections.causes import FINDINGS_SHOWN, heading, is_probable, title_of
from stethoscope.report.sections.findings import left_over
from stethoscope.report.words import certainty, chance, count, listed, percent

CAUSES_NAMED = 4  # behind a question
SPOKEN = {Means.LOG: "log", Means.TRY: "try"}


def section(explanation: Explanation, atlas: Atlas, healthy: bool = False) -> Markup:
    """The causes that are probable with their arguments, the others in short, then what to ask next.

    Nothing needs to be asked of a healthy run.
    """
    probable = [cause for cause in explanation.causes if is_probable(cause)]
    others = [cause for cause in explanation.causes if not is_probable(cause)]
    left = left_over(explanation)
    if not (probable or others or left or (explanation.ask and not healthy)):
        return NOTHING
    return element(
        "section",
        element("h2", heading(explanation)) if probable else element("h2", "Causes considered"),
        [_cause(cause, atlas) for cause in probable],
        _unexplained(left, explanation, atlas),
        _unlikely(others, atlas),
        NOTHING if healthy else _questions(explanation.ask),
        id=CAUSES,
        aria_label="Causes",
    )


def _cause(cause: RankedCause, atlas: Atlas) -> Markup:
    root = (
        element("p", "A consequence of ", cause_link(cause.consequence_of, atlas), ".")
        if cause.consequence_of
        else NOTHING
    )
    return element(
        "article",
        element("h3", title_of(cause)),
        element(
            "p",
            element("span", cause.standing.value, class_=f"standing {cause.standing.value}"),
            " ",
            _bar(cause.probability),
            f" {chance(cause.probability)} ",
            element("code", cause.name, class_="faint"),
        ),
        root,
        element(
            "div",
            _side("Speaks for it", cause.arguments_for, atlas, "for"),
            _side("Speaks against it", cause.arguments_against, atlas, "against"),
            class_="sides" if cause.arguments_for and cause.arguments_against else "sides one",
        ),
        _settles(cause),
        class_="cause",
        id=atlas.causes[cause.name],
        tabindex="-1",
    )


def _bar(probability: float) -> Markup:
    return element(
        "progress", value=f"{probability:.3f}", max="1", aria_label=f"probability {percent(probability)}"
    )


def _side(title: str, arguments: Sequence[Argument], atlas: Atlas, side: str) -> Markup:
    if not arguments:
        return element("div", element("h4", f"{title}: nothing"), class_=side)
    items = [_argument(one, atlas) for one in arguments]
    return element("div", element("h4", title), element("ul", items), class_=side)


def _argument(argument: Argument, atlas: Atlas) -> Markup:
    weight = element("span", f"{argument.weight:+.1f}", class_="weight", title="weight, in log-odds")
    findings = argument.findings
    shown = [_finding(finding, atlas) for finding in findings[:FINDINGS_SHOWN]]
    if len(findings) > FINDINGS_SHOWN:
        shown.append(element("li", f"and {len(findings) - FINDINGS_SHOWN:,} more"))
    seen = element("ul", shown) if shown else element("span", f" ({argument.rule} is clear)", class_="faint")
    if findings:
        return element("li", weight, " ", argument.reason, seen)
    return element("li", weight, " ", argument.reason, seen if argument.family else NOTHING)


def _finding(finding: Finding, atlas: Atlas) -> Markup:
    target = atlas.findings.get(finding)
    said: Child = link(target, finding.message, class_="finding-link") if target else finding.message
    proof = element("p", f"Proof: {one_line(finding.proof)}", class_="proof") if finding.proof else NOTHING
    return element("li", said, places(finding.places, atlas), proof)


def _settles(cause: RankedCause) -> Markup:
    if cause.standing is Standing.PROVED:
        return NOTHING
    rows = [("To confirm it", cause.entry.cause.confirm_by)]
    if against := speaks_against(cause):
        rows.append(("It is refuted if", against))
    return element("dl", [joined(element("dt", name), element("dd", said)) for name, said in rows])


def _unexplained(left: Sequence[Found], explanation: Explanation, atlas: Atlas) -> Markup:
    if not left:
        return NOTHING
    return element(
        "article",
        element("h3", "Found, and explained by no cause"),
        element("p", f"That something else is wrong: {chance(explanation.unknown)}.", class_="faint"),
        element("ul", [_finding(found.finding, atlas) for found in left]),
        class_="cause",
    )


def _unlikely(others: Sequence[RankedCause], atlas: Atlas) -> Markup:
    if not others:
        return NOTHING
    return element(
        "details",
        element("summary", f"{count(len(others), 'other cause')} considered, unlikely"),
        element("ul", [_did_not_carry(cause, atlas) for cause in others]),
    )


def _did_not_carry(cause: RankedCause, atlas: Atlas) -> Markup:
    against = min(cause.arguments_against, key=_weight, default=None)
    argument = against or max(cause.arguments_for, key=_weight)
    side = "against it" if against else "for it"
    return element(
        "li",
        element("strong", title_of(cause)),
        f" ({certainty(cause.standing, cause.probability)}); {side}: {one_line(argument.reason)}",
        places(argument.where, atlas),
        id=atlas.causes[cause.name],
    )


def _weight(argument: Argument) -> float:
    return argument.weight


def _questions(questions: Iterable[Question]) -> Markup:
    items = [_question(question) for question in questions]
    if not items:
        return NOTHING
    return joined(
        element("h3", "What would tell most"),
        element("ol", items),
    )


def _question(question: Question) -> Markup:
    names = listed(list(question.decides), CAUSES_NAMED)
    return element(
        "li",
        element("span", SPOKEN[question.means], class_="means"),
        f" {one_line(question.what)} ",
        element("span", f"{question.bits:.2g} bits, about {names}", class_="faint"),
    )
