"""What every page has: its head, the way to the others, and the places that the report's script fills."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from stethoscope.dashboard.static_files import address
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.markup import NOTHING, Attribute, Child, Markup, data_block, element, joined
from stethoscope.report.html.page import DATA

PLACES = (("/", "Runs"), ("/review", "Review"), ("/trials", "Trials"))
LONGEST_FOLDER = 80


@dataclass(frozen=True, slots=True)
class Frame:
    """What all pages of one dashboard share."""

    folder: str
    csrf: str
    read_only: bool = False

    def page(
        self,
        title: str,
        *inside: Child,
        script: str = "",
        at: str = "",
        charts: object = (),
        skip: str = "",
        told: Mapping[str, object] | None = None,
    ) -> str:
        """A whole page. `script` is a module among the static files, `charts` what the report's script draws.

        `told` is what the page's own script is told.
        """
        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("meta", name="stethoscope-key", content=self.csrf),
            element("title", f"{one_line(title, 120)} - Stethoscope"),
            element("link", rel="stylesheet", href=address("report.css")),
            element("link", rel="stylesheet", href=address("dashboard.css")),
            element("link", rel="icon", href="data:,"),
            element("script", src=address("report.js"), defer=True),
            element("script", src=address(script), type="module") if script else NOTHING,
        )
        body = element(
            "body",
            element("a", "Skip to the content", href=f"#{skip or 'content'}", class_="skip"),
            self._top(at),
            element("main", *inside, id="content", tabindex="-1"),
            element("div", id="said", class_="unseen", role="status", aria_live="polite"),
            data_block(DATA, {"charts": charts, **(told or {})}),
        )
        return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"

    def _top(self, at: str) -> Markup:
        links = [
            element("a", name, href=place, aria_current="page" if place == at else None)
            for place, name in PLACES
        ]
        folder = one_line(self.folder, LONGEST_FOLDER)
        return element(
            "header",
            element("nav", joined(*links), aria_label="Pages"),
            element("span", "read-only", class_="kind") if self.read_only else NOTHING,
            element("code", folder, class_="folder", title="The folder that is served"),
            element("div", id="controls"),
            class_="top",
        )


def field(**attributes: Attribute) -> Markup:
    """An input, which holds nothing and is not closed."""
    return Markup(str(element("input", **attributes)).removesuffix("</input>"))


def notice(said: Child, *, kind: str = "") -> Markup:
    """A sentence that stands out."""
    return element("p", said, class_=f"notice {kind}".strip())


def moment(unix: float) -> Markup:
    """A time, as a clock says it; a script turns it into how long ago that was."""
    said = time.strftime("%Y-%m-%d %H:%M", time.localtime(unix)) if 0 < unix < 4e9 else "at no known time"
    return element("time", said, data_unix=str(int(unix)))
