"""What would be written, for the dialog that asks whether it should be."""

from __future__ import annotations

from collections.abc import Sequence

from stethoscope.dashboard.joined.prescribing import Prescribed, ShownLeft
from stethoscope.dashboard.pages.frame import notice
from stethoscope.report.clean_text import one_line
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
    rows = [element("li", element("strong", one.remedy), ": ", _why(one)) for one in plan.left]
    return joined(
        element("h3", f"{count(len(rows), 'edit')} not written"),
        element("ul", rows),
        _commands(plan.commands),
    )


def _why(one: ShownLeft) -> Markup:
    """Why an edit is left, with the file that it is about named once."""
    file = element("code", one_line(one.file, 200))
    if one.why.startswith(f"{one.file} "):
        return joined(file, " ", one_line(one.why.removeprefix(one.file), 400))
    return joined(one_line(one.why, 400), " (", file, ")")


def _commands(commands: Sequence[str]) -> Markup:
    if not commands:
        return NOTHING
    lines = "\n".join(one_line(command, 1000) for command in commands)
    return joined(element("p", "In a terminal:"), element("pre", element("code", lines), tabindex="0"))
