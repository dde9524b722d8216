"""A diagnosis as a notebook shows it: the verdict, the telling curve, the causes and the edits at once.

The whole report is folded below it, in a frame of its own that can reach neither the notebook nor a network.
What stands outside of the frame needs no script, so that it is still there where a notebook is only read.
"""

from __future__ import annotations

from html import escape

from stethoscope.causes.verdict import stands
from stethoscope.diagnose import Diagnosis
from stethoscope.figures import svg
from stethoscope.report.html.charts import panels, picture
from stethoscope.report.html.markup import NOTHING, Markup, code_line, element, joined
from stethoscope.report.html.page import page
from stethoscope.report.html.sections.headline import BADGE, how_sure
from stethoscope.report.sections import headline
from stethoscope.report.sections.causes import is_probable, title_of
from stethoscope.report.words import certainty

FRAME_HEIGHT = 800  # pixels
MOST_CAUSES = 5


def render(diagnosis: Diagnosis) -> str:
    """The markup of an output cell."""
    name = diagnosis.run.name or "This run"
    shown = joined(
        element("h3", element("bdi", name), f": {BADGE[diagnosis.verdict]} ({how_sure(diagnosis)})"),
        element("ul", [element("li", said) for said in headline.sentences(diagnosis)]),
        _curve(diagnosis),
        _causes(diagnosis),
        _edits(diagnosis),
        _whole(diagnosis),
    )
    return str(element("div", shown, class_="stethoscope"))


def _curve(diagnosis: Diagnosis) -> Markup:
    first = next(iter(panels(diagnosis)), None)
    return element("div", Markup(svg.render(picture(first)))) if first else NOTHING


def _causes(diagnosis: Diagnosis) -> Markup:
    probable = [cause for cause in diagnosis.explanation.causes if is_probable(cause)]
    items = []
    for cause in probable[:MOST_CAUSES]:
        strongest = max(cause.arguments_for, key=lambda argument: argument.weight, default=None)
        why = f": {strongest.finding.message}" if strongest and strongest.finding else ""
        sure = certainty(cause.standing, cause.probability)
        said = element("strong" if stands(cause) else "span", title_of(cause))
        items.append(element("li", said, f" ({sure}){why}"))
    return element("ol", items) if items else NOTHING


def _edits(diagnosis: Diagnosis) -> Markup:
    return joined(
        *(
            element(
                "details",
                element("summary", f"{edit.remedy} ({edit.level.value}) in ", element("code", edit.file)),
                element("pre", Markup("\n".join(_lines(edit.diff)))),
            )
            for edit in diagnosis.prescription.edits
        )
    )


def _lines(diff: str) -> list[str]:
    return [str(code_line(line)) for line in diff.splitlines()]


def _whole(diagnosis: Diagnosis) -> Markup:
    """The page in a frame; a frame's text is an attribute, in which markup is escaped like any other text."""
    frame = (
        f'<iframe sandbox="allow-scripts" width="100%" height="{FRAME_HEIGHT}" title="The whole report" '
        f'loading="lazy" srcdoc="{escape(page(diagnosis), quote=True)}"></iframe>'
    )
    return element("details", element("summary", "The whole report"), Markup(frame))
