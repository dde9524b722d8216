"""The verdict and how sure it is, at one glance."""

from __future__ import annotations

from stethoscope.causes.verdict import Verdict, stands
from stethoscope.diagnose import Diagnosis
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.markup import Markup, element, joined, link
from stethoscope.report.html.places import Atlas, places
from stethoscope.report.sections import headline
from stethoscope.report.sections.causes import title_of
from stethoscope.report.words import certainty, chance

BADGE = {
    Verdict.HEALTHY: "healthy",
    Verdict.AT_RISK: "at risk",
    Verdict.SICK: "sick",
    Verdict.UNKNOWN: "no verdict",
}


def section(diagnosis: Diagnosis, atlas: Atlas) -> Markup:
    """The run's name, its verdict, its root causes and how it ended."""
    run, ending = diagnosis.run, diagnosis.ending
    name = one_line(run.name, headline.LONGEST_NAME) or "This run"
    return element(
        "header",
        element(
            "div",
            element("h1", element("bdi", name)),
            element(
                "p",
                element("strong", BADGE[diagnosis.verdict], class_=f"badge {diagnosis.verdict.value}"),
                " ",
                element("span", how_sure(diagnosis), class_="sure"),
            ),
            class_="verdict",
        ),
        element("ul", [element("li", one) for one in _sentences(diagnosis, atlas)], class_="roots"),
        *(element("p", said, class_="first-of-all") for said in _baseline(diagnosis)),
        element(
            "p",
            f"{headline.extent(run)} {headline.ended(ending)}.",
            places((ending.where,) if ending.where else (), atlas),
            class_="faint",
        ),
        class_="headline",
    )


def how_sure(diagnosis: Diagnosis) -> str:
    """How sure the verdict is, in a few words."""
    explanation = diagnosis.explanation
    if diagnosis.verdict is Verdict.HEALTHY:
        return chance(explanation.healthy)
    root = next((cause for cause in explanation.causes if stands(cause)), None)
    if root is not None:
        return certainty(root.standing, root.probability)
    return "no cause stands" if explanation.symptoms else "too little to judge by"


def _sentences(diagnosis: Diagnosis, atlas: Atlas) -> list[Markup]:
    causes = diagnosis.explanation.causes
    roots = [cause for cause in causes if stands(cause) and cause.consequence_of is None]
    if not roots:
        return [joined(said) for said in headline.sentences(diagnosis)]
    return [
        joined(
            link(atlas.causes[cause.name], title_of(cause)),
            f" ({certainty(cause.standing, cause.probability)})",
        )
        for cause in roots[: headline.MOST_ROOTS]
    ]


def _baseline(diagnosis: Diagnosis) -> list[str]:
    return [] if diagnosis.verdict is Verdict.HEALTHY else list(headline.baseline(diagnosis))
