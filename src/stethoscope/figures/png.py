"""A picture as PNG: the SVG, drawn by resvg with the font that comes along.

Without a font of its own a machine that has none shows no text at all, so two weights of Roboto, cut down to
Latin, Greek and Cyrillic letters, are part of the package (`fonts/`, Apache License 2.0).
"""

from __future__ import annotations

import re
from pathlib import Path

from stethoscope.errors import MissingExtra
from stethoscope.figures import svg
from stethoscope.figures.chart import Drawing
from stethoscope.figures.colours import Theme

FONTS = Path(__file__).parent / "fonts"
SCALE = 2.0  # pixels of the file for each pixel of the SVG, for fine screens
# What the fonts here hold, and line ends; other letters are looked for among the fonts of the machine.
OWN_LETTERS = re.compile(
    "[\n -~\u00a0-\u017f\u0370-\u03ff\u0400-\u045f\u2010-\u2027\u2030\u2032\u2033\u2070-\u209f\u20ac\u2122"
    "\u2202\u2206\u220f\u2211\u2212\u221a\u221e\u222b\u2248\u2260\u2264\u2265\u25ca]*"
)


def render(drawing: Drawing, scale: float = SCALE, theme: Theme = "light") -> bytes:
    """The drawing as the bytes of a PNG file."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise MissingExtra("PNG pictures need resvg_py: pip install 'stethoscope[pictures]'") from None
    text = svg.render(drawing, "light" if theme == "auto" else theme)
    return svg_to_bytes(
        svg_string=text,
        zoom=scale,
        font_files=[str(font) for font in sorted(FONTS.glob("*.ttf"))],
        skip_system_fonts=OWN_LETTERS.fullmatch(text) is not None,
        font_family="Roboto",
        sans_serif_family="Roboto",
    )
