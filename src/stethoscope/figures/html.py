"""A page of text, tables and pictures in one HTML file that needs nothing else.

It loads nothing and runs nothing: the page forbids both to itself, and every text is shown as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from stethoscope.figures import svg
from stethoscope.figures.chart import Drawing
from stethoscope.figures.colours import DARK, LIGHT, Colours

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of what follows."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs, with an empty line between them."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Text whose lines and spaces matter: a command, an edit."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells below their column's name; what looks like a number is set to the right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


Part: TypeAlias = Heading | Text | Code | Table | Drawing


def render(title: str, parts: Sequence[Part]) -> str:
    """The page as the text of an HTML file."""
    body = "\n".join(_part(part) for part in parts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{_text(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{_text(title)}</h1>
{body}
</body>
</html>
"""


def _part(part: Part) -> str:
    if isinstance(part, Heading):
        return f"<h2>{_text(part.text)}</h2>"
    if isinstance(part, Text):
        return "\n".join(f"<p>{_text(paragraph)}</p>" for paragraph in part.text.split("\n\n"))
    if isinstance(part, Code):
        return f"<pre><code>{_text(part.text)}</code></pre>"
    if isinstance(part, Table):
        return _table(part)
    return f"<figure>{svg.render(part)}</figure>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(cell)}</th>" for cell in table.head)
    rows = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return f"<div><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>"


def _cell(cell: str) -> str:
    return f'<td class="number">{_text(cell)}</td>' if _is_number(cell) else f"<td>{_text(cell)}</td>"


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "").replace("\u2212", "-").rstrip("%"))
    except ValueError:
        return False
    return True


def _text(text: str) -> str:
    """The text with what HTML would act on escaped, and what no page may hold replaced."""
    kept = "".join(letter if letter.isprintable() or letter in "\n\t" else "\ufffd" for letter in text)
    return escape(kept, quote=True)


def _colours(colours: Colours) -> str:
    return (
        f"body{{background:{colours.background};color:{colours.ink}}}"
        f"th,td{{border-color:{colours.grid}}}pre{{background:{colours.grid}}}"
    )


_STYLE = (
    f"body{{font-family:{svg.FONTS};font-size:16px;line-height:1.5}}"
    "body{max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2rem}p{max-width:48rem}"
    "figure{margin:1.5rem 0}figure svg{max-width:100%;height:auto}"
    "div{overflow-x:auto}table{border-collapse:collapse}"
    "th,td{border-bottom:1px solid;padding:.3rem .8rem .3rem 0;text-align:left;vertical-align:top}"
    ".number{text-align:right;font-variant-numeric:tabular-nums}"
    "pre{padding:.8rem;overflow-x:auto}"
    f"{_colours(LIGHT)}@media (prefers-color-scheme:dark){{{_colours(DARK)}}}"
)
