"""Tables that scroll by themselves where they are wider than the page."""

from __future__ import annotations

from collections.abc import Sequence

from stethoscope.report.html.markup import Child, Markup, element


def table(head: Sequence[str], rows: Sequence[Sequence[Child]]) -> Markup:
    """Rows below the names of their columns."""
    names = element("tr", [element("th", name, scope="col") for name in head])
    body = [element("tr", [element("td", cell) for cell in row]) for row in rows]
    return element(
        "div",
        element("table", element("thead", names), element("tbody", body)),
        class_="wide",
        tabindex="0",
        role="group",
        aria_label=", ".join(head),
    )
