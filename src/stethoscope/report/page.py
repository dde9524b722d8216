"""The page of a rule or a cause, as `stethoscope explain` shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from rich.console import Console
from rich.text import Text

from stethoscope import causes, findings
from stethoscope.errors import UnknownRule
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.palette import HEADING


@dataclass(frozen=True, slots=True)
class Page:
    """A title and the Markdown below it."""

    title: str
    body: str


def find(code_or_name: str) -> Page:
    """The page with this code or name, in any case."""
    wanted = code_or_name.strip().lower().replace("_", "-")
    pages = _pages()
    if wanted in pages:
        return pages[wanted]
    near = get_close_matches(wanted, pages, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UnknownRule(
        f"no rule or cause is called {code_or_name}; {hint}`stethoscope rules` lists the rules."
    )


def render(page: Page, console: Console) -> str:
    """The page as this console would show it."""
    return printed([Line(Text(page.title, style=HEADING)), BLANK, *_lines(page.body)], console)


def _lines(markdown: str) -> Iterator[Line]:
    """The headings, paragraphs, bullets and indented code of a page."""
    paragraph: list[str] = []
    for row in markdown.splitlines():
        starts = row.startswith(("#", "- ", "    "))
        if paragraph and (starts or not row.strip()):
            yield _paragraph(paragraph)
            paragraph = []
        if row.startswith("#"):
            yield Line(Text(row.lstrip("# "), style=HEADING))
        elif row.startswith("    "):
            yield Line(Text(row), verbatim=True)
        elif row.strip():
            paragraph.append(row.strip())
        else:
            yield BLANK
    if paragraph:
        yield _paragraph(paragraph)


def _paragraph(rows: list[str]) -> Line:
    return Line(Text(" ".join(rows)), indent=2, hang=2 if rows[0].startswith("- ") else 0)


def _pages() -> dict[str, Page]:
    """Every page by its names; a rule answers to its code and its name, before a cause of that name."""
    pages = {entry.name: Page(entry.name, entry.page) for entry in causes.catalogue()}
    for rule in findings.catalogue():
        page = Page(f"{rule.code} {rule.name} ({rule.family}, {rule.severity.value})", rule.page)
        pages[rule.name] = pages[rule.code.lower()] = page
    return pages
