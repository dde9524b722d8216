"""The timeline: what happened, step by step, each leading to what it is told by."""

from __future__ import annotations

from collections.abc import Sequence

from stethoscope.report.html.anchors import CHECKPOINT, TIMELINE
from stethoscope.report.html.markup import NOTHING, Child, Markup, element, link
from stethoscope.report.html.places import Atlas, places
from stethoscope.report.timeline import Happening, Kind


def section(told: Sequence[Happening], atlas: Atlas) -> Markup:
    """What happened, in the order of the steps."""
    return element(
        "section",
        element("h2", "What happened"),
        element("ol", [_happening(one, atlas) for one in told], class_="timeline"),
        id=TIMELINE,
        aria_label="What happened",
        tabindex="-1",
    )


def _happening(one: Happening, atlas: Atlas) -> Markup:
    at = "" if one.step is None else f"{one.axis} {one.step:,}"
    return element(
        "li",
        element("span", at, class_="at"),
        " ",
        element("span", one.kind.value, class_="kind"),
        " ",
        _said(one, atlas),
        _shown(one, atlas),
        places((one.where,) if one.where else (), atlas),
        class_=one.kind.value,
    )


def _said(one: Happening, atlas: Atlas) -> Child:
    if one.found is not None and one.found.finding in atlas.findings:
        return link(atlas.findings[one.found.finding], one.title)
    return link(CHECKPOINT, one.title) if one.kind is Kind.CHECKPOINT else one.title


def _shown(one: Happening, atlas: Atlas) -> Markup:
    """A link that shows the step on its chart."""
    panel = atlas.charts.get(one.series or "")
    if panel is None or one.step is None:
        return NOTHING
    return element(
        "span",
        " ",
        link(
            panel.id,
            "show",
            class_="show",
            data_chart=panel.id,
            data_first=one.step,
            data_last=one.step,
            aria_label=f"show {one.axis} {one.step:,} on the chart of {panel.title}",
        ),
    )
