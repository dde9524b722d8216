"""The ways to go on with their price, how to resume, and what to try if it persists."""

from __future__ import annotations

from collections.abc import Sequence

from stethoscope.prescription.course import Course, Option
from stethoscope.prescription.ladder import Rung
from stethoscope.prescription.resuming import Resume
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.markup import NOTHING, Child, Markup, code_line, element, joined
from stethoscope.report.html.places import Atlas, places
from stethoscope.report.prescription_text import cost_in_words
from stethoscope.report.words import listed, percent

CAUSES_NAMED = 3


def section(course: Course, atlas: Atlas) -> Markup:
    """What can be done with the prescription, as a list of ways."""
    return joined(
        _options(course.options, atlas), _resume(course.resume, atlas), _ladder(course.ladder, atlas)
    )


def _options(options: Sequence[Option], atlas: Atlas) -> Markup:
    if not options:
        return NOTHING
    rows = []
    said: set[str] = set()
    for option in options:
        shown = _offered(option, atlas) if option.is_open else [_refused(option, option.why_not in said)]
        rows.append(joined(element("dt", option.name), element("dd", shown)))
        said.add(option.why_not)
    return joined(element("h3", "Ways to go on"), element("dl", rows, class_="ways"))


def _refused(option: Option, told: bool) -> Markup:
    why = "the same holds" if told else one_line(option.why_not)
    return element("span", f"not here: {why}", class_="faint")


def _offered(option: Option, atlas: Atlas) -> list[Child]:
    effect = element("p", f"Expect: {one_line(option.effect)}", places(option.where, atlas))
    return [
        f"{one_line(option.title)}: {cost_in_words(option.cost)}.",
        effect if option.effect else NOTHING,
        *(element("p", f"Proof: {one_line(proof)}", class_="faint") for proof in option.proof),
    ]


def _resume(resume: Resume | None, atlas: Atlas) -> Markup:
    if resume is None:
        return NOTHING
    return joined(
        element("h3", "How to resume"),
        element("p", resume.first) if resume.first else NOTHING,
        element("pre", element("code", code_line(resume.command)), tabindex="0")
        if resume.command
        else NOTHING,
        element("p", one_line(resume.how), places(resume.where, atlas), class_="faint"),
    )


def _ladder(rungs: Sequence[Rung], atlas: Atlas) -> Markup:
    if not rungs:
        return NOTHING
    return joined(
        element("h3", "If it persists"), element("ol", [element("li", _rung(one, atlas)) for one in rungs])
    )


def _rung(rung: Rung, atlas: Atlas) -> list[Child]:
    price = "a line of logging" if rung.cost is None else cost_in_words(rung.cost)
    about = f" ({listed(list(rung.decides), CAUSES_NAMED)}, {percent(rung.probability)}; {price})"
    return [
        one_line(rung.what),
        element("span", about, class_="faint"),
        places(rung.where, atlas),
        element(
            "p", f"If it shows, {one_line(rung.if_so)}. If not, {one_line(rung.if_not)}.", class_="faint"
        ),
    ]
