"""Writing a picture to a file; the file's ending says how."""

from __future__ import annotations

from pathlib import Path

from stethoscope.errors import UnwritableFile
from stethoscope.figures import html, png, svg
from stethoscope.figures.chart import Drawing


def save(drawing: Drawing, path: Path) -> None:
    """Write the drawing as .svg, .png or .html."""
    written = {
        ".svg": lambda: svg.render(drawing).encode("utf-8"),
        ".png": lambda: png.render(drawing),
        ".html": lambda: html.render(drawing.title, (drawing,)).encode("utf-8"),
    }
    if path.suffix.lower() not in written:
        raise UnwritableFile(f"{path}: pictures are written as .svg, .png or .html; change the ending.")
    content = written[path.suffix.lower()]()
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UnwritableFile(f"{path}: {error.strerror or error}.") from error
