"""A picture as PNG: the SVG, drawn by resvg with the font that comes along.

Without a font of its own a machine that has none shows no text at all, so two weights of Roboto, cut down to
Latin, Greek and Cyrillic letters, are part of the package (`fonts/`, Apache License 2.0).
"""

from __future__ import annotations

from pathlib import Path

from stethoscope.errors import MissingExtra
from stethoscope.figures import svg
from stethoscope.figures.chart import Drawing
from stethoscope.figures.colours import Theme

FONTS = Path(__file__).parent / "fonts"
SCALE = 2.0  # pixels of the file for each pixel of the SVG, for fine screens
LAST_OF_ROBOTO = "\u2265"  # letters behind it are looked for among the fonts of the machine


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
        skip_system_fonts=max(text) <= LAST_OF_ROBOTO,
        font_family="Roboto",
        sans_serif_family="Roboto",
    )
