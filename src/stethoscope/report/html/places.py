"""Addresses on the page: steps lead to their chart, and lines stand as an editor takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stethoscope.findings import Finding
from stethoscope.report.address import LONGEST
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.charts import Panel
from stethoscope.report.html.markup import NOTHING, Child, Markup, element, joined, link
from stethoscope.run import Where

MOST_PLACES = 12  # of one finding


@dataclass(frozen=True, slots=True)
class Atlas:
    """Where things are on the page: the chart of a series, the id of a finding and of a cause."""

    charts: Mapping[str, Panel] = field(default_factory=dict)
    findings: Mapping[Finding, str] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)


def places(where: Sequence[Where], atlas: Atlas) -> Markup:
    """The addresses in a row; the steps of a series that is drawn are a link that shows them."""
    unique = list(dict.fromkeys(where))
    shown: list[Child] = []
    for place in unique[:MOST_PLACES]:
        shown += [" ", _place(place, atlas)]
    if len(unique) > MOST_PLACES:
        shown.append(f" and {len(unique) - MOST_PLACES:,} more")
    return element("span", shown, class_="places") if shown else NOTHING


def _place(place: Where, atlas: Atlas) -> Markup:
    panel = atlas.charts.get(place.series or "")
    if panel is None or place.steps is None:
        return element("code", one_line(place, LONGEST), class_="place")
    first, last = place.steps
    steps = f"{panel.axis} {first:,}" if first == last else f"{panel.axis}s {first:,} to {last:,}"
    return link(
        panel.id,
        f"{one_line(place.series, LONGEST)}, {steps}",
        class_="show",
        data_chart=panel.id,
        data_first=first,
        data_last=last,
    )


def cause_link(name: str, atlas: Atlas) -> Markup:
    """A cause's name, leading to where it is argued."""
    target = atlas.causes.get(name)
    return link(target, name) if target else joined(name)
