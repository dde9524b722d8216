"""What would be written, for the dialog that asks whether it should be."""

from __future__ import annotations

from stethoscope.dashboard.joined.prescribing import Prescribed
from stethoscope.dashboard.pages.frame import notice
from stethoscope.report.html.diffs import highlighted
from stethoscope.report.html.markup import NOTHING, Markup, element, joined
from stethoscope.report.words import count


def content(plan: Prescribed) -> Markup:
    """The changes as diffs, what is left and why, and what can be undone."""
    changes = [
        element(
            "div",
            element("p", element("code", change.file), f": {', '.join(change.remedies)}"),
            highlighted(change.diff),
            class_="edit",
        )
        for change in plan.changes
    ]
    return joined(
        joined(*changes) if changes else notice("There is nothing that can be written here."),
        notice(plan.hindrance, kind="bad") if plan.hindrance else NOTHING,
        _left(plan),
    )


def _left(plan: Prescribed) -> Markup:
    if not plan.left:
        return NOTHING
    rows = [
        element("li", element("strong", one.remedy), " (", element("code", one.file), f"): {one.why}")
        for one in plan.left
    ]
    return joined(element("h3", f"{count(len(rows), 'edit')} not written"), element("ul", rows))
