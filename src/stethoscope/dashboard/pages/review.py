"""The page that asks for a document, and shows the second opinion on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stethoscope.dashboard.pages.frame import Frame
from stethoscope.dashboard.register import Row
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.markup import Markup, element

LONGEST_NAME = 160
MOST_CHOICES = 2000


def page(frame: Frame, documents: Mapping[str, str], rows: Sequence[Row], run: str) -> str:
    """Choose a document below the folder or paste one, and the run that it is about."""
    runs = sorted(((row.number, row.inside) for row in rows), key=lambda one: one[1])
    return frame.page(
        "Review",
        element("h1", "Review a written diagnosis"),
        element("p", "Each proposed change is looked up in the run's settings, source and curves."),
        element(
            "form",
            _choice("run", "The run that it is about", runs, run, "no run"),
            _choice(
                "document", "A document in this folder", sorted(documents.items(), key=_by_path), "", "none"
            ),
            element(
                "label",
                element("span", "or a text, pasted"),
                element("textarea", name="text", rows=12, spellcheck="false"),
                class_="tall",
            ),
            element("button", "Review", type="submit"),
            id="review",
            class_="scripted-only",
        ),
        element(
            "div", id="opinion", role="region", aria_label="Second opinion", aria_live="polite", tabindex="-1"
        ),
        script="review.js",
        at="/review",
        skip="review",
    )


def _by_path(one: tuple[str, str]) -> str:
    return one[1]


def _choice(name: str, label: str, options: Sequence[tuple[str, str]], chosen: str, none: str) -> Markup:
    found = [
        element("option", one_line(said, LONGEST_NAME), value=value, selected=value == chosen)
        for value, said in options[:MOST_CHOICES]
    ]
    return element(
        "label",
        element("span", label),
        element("select", element("option", none, value=""), found, name=name),
    )
