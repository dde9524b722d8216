"""Words in a picture: made harmless, measured, and broken into lines.

A picture is laid out before anybody knows the font that will show it, so widths are those of Roboto with some
room for wider ones.
"""

from __future__ import annotations

import html
import re
import unicodedata

LONGEST = 2000  # characters of one text; a name of megabytes is not read by anybody
ROOM = 1.06  # how much wider than Roboto a reader's font may be
WIDE = 1.0  # of an em: letters of East Asian scripts
USUAL = 0.58  # of an em: any other letter
ELLIPSIS = "\u2026"

# Hundredths of an em, from the space to the tilde.
_ASCII = (
    25, 26, 32, 62, 56, 73, 62, 17, 34, 35, 43, 57, 20, 28, 26, 41, 56, 56, 56, 56, 56, 56, 56, 56,
    56, 56, 24, 21, 51, 55, 52, 47, 90, 65, 62, 65, 66, 57, 55, 68, 71, 27, 55, 63, 54, 87, 71, 69,
    63, 69, 62, 59, 60, 65, 64, 89, 63, 60, 60, 27, 41, 27, 42, 45, 31, 54, 56, 52, 56, 53, 35, 56,
    55, 24, 24, 51, 24, 88, 55, 57, 56, 57, 34, 52, 33, 55, 48, 75, 50, 47, 50, 34, 24, 34, 68,
)  # fmt: skip


def harmless(text: str) -> str:
    """The text on one line, without characters that XML forbids or that reorder what is shown."""
    shown = re.sub(r"\s+", " ", text[:LONGEST]).strip()
    return "".join(letter if _showable(letter) else "\ufffd" for letter in shown)


def escaped(text: str) -> str:
    """The text as it stands in XML and HTML, inside an element or a quoted attribute."""
    return html.escape(harmless(text), quote=True)


def width(text: str, size: float) -> float:
    """How wide the text may come out at that font size."""
    return ROOM * size * sum(_em(letter) for letter in text)


def wrapped(text: str, size: float, widest: float) -> list[str]:
    """The text in lines that are no wider than that; a word that is wider alone is cut short."""
    lines: list[str] = []
    for word in harmless(text).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer, size) <= widest:
            lines[-1] = longer
        else:
            lines.append(shortened(word, size, widest))
    return lines


def shortened(text: str, size: float, widest: float) -> str:
    """The text, its end left out where it is wider than that."""
    text = harmless(text)
    if width(text, size) <= widest:
        return text
    kept = len(text)
    while kept and width(text[:kept].rstrip() + ELLIPSIS, size) > widest:
        kept -= 1
    return text[:kept].rstrip() + ELLIPSIS


def _showable(letter: str) -> bool:
    # Cc, Cf, Cs, Co, Cn: control, format (which reorders text), surrogates, private, unassigned.
    return unicodedata.category(letter)[0] != "C"


def _em(letter: str) -> float:
    if " " <= letter <= "~":
        return _ASCII[ord(letter) - ord(" ")] / 100
    if unicodedata.combining(letter):
        return 0.0
    return WIDE if unicodedata.east_asian_width(letter) in "WF" else USUAL
