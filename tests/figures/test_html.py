from __future__ import annotations

import re
from html.parser import HTMLParser

from stethoscope.figures.chart import Chart, Line
from stethoscope.figures.html import Code, Heading, Table, Text, render

HOSTILE = "<img src=x onerror=alert(1)> </style><script>alert(1)</script> \x00 \" '"


class Elements(HTMLParser):
    """Every element of a page with its attributes, and all its text."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Elements:
    elements = Elements()
    elements.feed(page)
    return elements


def test_a_page_holds_its_parts_in_their_order() -> None:
    chart = Chart("Loss", lines=[Line("loss", [0, 1], [1, 0])])
    page = render(
        "Trial", [Heading("Why"), Text("One.\n\nTwo."), chart, Table(["a"], [["1"]]), Code("x = 1")]
    )
    places = [
        page.index(part)
        for part in ("<h1>Trial", "<h2>Why", "<p>One.</p>", "<p>Two.</p>", "<svg", "<table", "<pre>")
    ]
    assert places == sorted(places)


def test_numbers_are_set_to_the_right_and_names_are_not() -> None:
    page = render("T", [Table(["name", "value"], [["warm-up", "-0.5"], ["rate", "12.5%"], ["lr", "1,024"]])])
    assert re.findall(r'<td class="number">(.*?)</td>', page) == ["-0.5", "12.5%", "1,024"]
    assert re.findall(r"<td>(.*?)</td>", page) == ["warm-up", "rate", "lr"]


def test_hostile_text_is_shown_and_never_acts() -> None:
    chart = Chart(HOSTILE, lines=[Line(HOSTILE, [0, 1], [1, 0])])
    parts = [Heading(HOSTILE), Text(HOSTILE), Code(HOSTILE), Table([HOSTILE], [[HOSTILE]]), chart]
    found = read(render(HOSTILE, parts))
    assert not found.names & {"script", "img", "iframe", "link", "object", "embed", "a", "form", "base"}
    assert not {name for name in found.attributes if name.startswith("on")}
    assert "<script>alert(1)</script>" in "".join(found.text)


def test_a_page_forbids_itself_to_load_or_run_anything() -> None:
    page = render("T", [Chart("c")])
    assert "default-src &#x27;none&#x27;" in page
    assert "script-src" not in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
