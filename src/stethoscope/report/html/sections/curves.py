"""The charts: a place for the script to draw in, a picture without it, and the same in words."""

from __future__ import annotations

from collections.abc import Sequence

from stethoscope.diagnose import Diagnosis
from stethoscope.report.html import charts
from stethoscope.report.html.anchors import CHARTS
from stethoscope.report.html.charts import AT_ONCE, Panel
from stethoscope.report.html.markup import NOTHING, Markup, element, joined, link
from stethoscope.report.html.tables import table
from stethoscope.report.words import count


def section(diagnosis: Diagnosis, shown: Sequence[Panel]) -> Markup:
    """The charts, the most telling ones open, the others a click away."""
    left = charts.not_drawn(diagnosis)
    if not shown and not left:
        return NOTHING
    first, others = shown[:AT_ONCE], shown[AT_ONCE:]
    return element(
        "section",
        element("h2", "Curves"),
        element("div", [_chart(panel) for panel in first], class_="charts"),
        _folded(f"{count(len(others), 'more chart')}", [_chart(panel) for panel in others]),
        _folded(f"{count(len(left), 'series', 'series')} not drawn", [_listed(diagnosis)] if left else []),
        id=CHARTS,
        aria_label="Curves",
    )


def _chart(panel: Panel) -> Markup:
    direction = f", {panel.better} is better" if panel.better else ""
    caption = element(
        "figcaption", element("strong", panel.title), element("span", direction, class_="faint")
    )
    summary = element("p", charts.summary(panel), class_="unseen", id=f"{panel.id}-summary")
    return element(
        "figure",
        caption,
        element("div", class_="plot", data_chart=panel.id),
        element("div", Markup(charts.static_picture(panel)), class_="static"),
        summary,
        _marks(panel),
        id=panel.id,
        class_="chart",
        tabindex="-1",
    )


def _marks(panel: Panel) -> Markup:
    """The marks as a table, for who does not see the chart, and for paper."""
    if not panel.marks:
        return NOTHING
    rows = [
        (f"{mark.step:,}", mark.short, link(mark.leads_to, mark.title, class_="mark-link"))
        for mark in panel.marks
    ]
    return element(
        "details",
        element("summary", count(len(panel.marks), "mark")),
        table((panel.axis, "mark", "what happened"), rows),
    )


def _folded(title: str, parts: Sequence[Markup]) -> Markup:
    if not parts:
        return NOTHING
    return element(
        "details", element("summary", title), element("div", parts, class_="charts"), class_="more"
    )


def _listed(diagnosis: Diagnosis) -> Markup:
    rows = charts.series_table(charts.not_drawn(diagnosis))
    shown, rest = rows[: charts.MOST_LISTED], len(rows) - charts.MOST_LISTED
    more = element("p", f"and {rest:,} more") if rest > 0 else NOTHING
    return joined(table(("series", "points", "first", "last", "lowest", "highest"), shown), more)
