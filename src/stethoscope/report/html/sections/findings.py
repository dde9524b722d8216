"""Every finding with what was measured; what is benign; what could not be examined; what was read."""

from __future__ import annotations

from collections.abc import Sequence

from stethoscope.causes import BenignExplanation
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Found, NotExamined
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.anchors import FINDINGS
from stethoscope.report.html.markup import NOTHING, Markup, element
from stethoscope.report.html.places import Atlas, places
from stethoscope.report.sections.findings import by_reason, measurements
from stethoscope.report.sections.reading import files, not_read
from stethoscope.report.words import count, listed
from stethoscope.run import Run

MOST_UNREAD = 100
RULES_NAMED = 8


def benign(explanations: Sequence[BenignExplanation], atlas: Atlas) -> Markup:
    """What looks alarming, and why it is not."""
    if not explanations:
        return NOTHING
    rows = [
        element(
            "li",
            element("strong", one.entry.cause.title),
            f": {one_line(one.why)}",
            places([place for found in one.explains for place in found.finding.places], atlas),
        )
        for one in explanations
    ]
    return element("section", element("h2", "Looks alarming, is not"), element("ul", rows), class_="benign")


def every_finding(found: Sequence[Found], atlas: Atlas) -> Markup:
    """All findings, notes included, each with its address and what was measured."""
    if not found:
        return NOTHING
    return element(
        "section",
        element("h2", "Every finding"),
        element("ul", [_finding(one, atlas) for one in found], class_="findings"),
        id=FINDINGS,
        aria_label="Every finding",
    )


def _finding(found: Found, atlas: Atlas) -> Markup:
    finding = found.finding
    proof = element("p", f"Proof: {one_line(finding.proof)}", class_="proof") if finding.proof else NOTHING
    measured = element("p", measurements(found), class_="faint measured") if finding.evidence else NOTHING
    return element(
        "li",
        element("span", found.severity.value, class_=f"severity {found.severity.value}"),
        " ",
        element("code", f"{found.rule.code} {found.rule.name}"),
        element("p", finding.message, places(finding.places, atlas)),
        proof,
        measured,
        id=atlas.findings[finding],
        tabindex="-1",
    )


def not_examined(skipped: Sequence[NotExamined]) -> Markup:
    """The rules that could not look, why, and the line that would log what is missing."""
    if not skipped:
        return NOTHING
    rows = []
    for (why, log_this), rules in by_reason(skipped).items():
        names = listed([f"{one.rule.code} {one.rule.name}" for one in rules], RULES_NAMED)
        log = element("p", "To log it: ", element("code", log_this)) if log_this else NOTHING
        rows.append(
            element("li", f"{one_line(why).rstrip('.')}. ", element("span", names, class_="faint"), log)
        )
    return element(
        "section",
        element("h2", "Not examined"),
        element(
            "details",
            element("summary", f"{count(len(skipped), 'rule')} could not look"),
            element("ul", rows),
        ),
        id="not-examined",
        aria_label="Not examined",
    )


def reading(run: Run) -> Markup:
    """The files the diagnosis rests on."""
    unread = [element("li", not_read(one)) for one in run.unread[:MOST_UNREAD]]
    if len(run.unread) > MOST_UNREAD:
        unread.append(element("li", f"and {len(run.unread) - MOST_UNREAD:,} more"))
    return element(
        "section",
        element("h2", "Read"),
        element("ul", [element("li", line) for line in files(run)]),
        [element("h3", "Not read"), element("ul", unread)] if unread else NOTHING,
        id="read",
        aria_label="Files",
    )


def counted(diagnosis: Diagnosis) -> str:
    """How many rules looked, in a sentence."""
    examination = diagnosis.examination
    return (
        f"{count(len(examination.found), 'finding')}, {count(len(examination.clear), 'rule')} clear, "
        f"{count(len(examination.not_examined), 'rule')} not examined."
    )
