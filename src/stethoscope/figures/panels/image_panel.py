"""An image as SVG: its pixels as an embedded PNG, large enough to be told apart."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from stethoscope.figures.chart import Image
from stethoscope.figures.panels.parts import (
    SIDE,
    TICK_SIZE,
    TITLE_SIZE,
    Room,
    element,
    height_of,
    paragraph,
)

DENSITY = 2.0  # pixels of the file for each pixel of the panel, for fine screens


def room(image: Image, width: float, body: float) -> Room:
    """The height that this image asks for; without other panels in its row it is as wide as its panel."""
    wide = width - 2 * SIDE
    header = SIDE + height_of(image.title, wide, TITLE_SIZE) + 6.0
    footer = height_of(image.note, wide) + SIDE * 0.8
    return Room(header, body or wide * _aspect(image), footer)


def draw(image: Image, width: float, given: Room) -> str:
    """The image in a panel of that width, as large as fits and in its middle."""
    wide = min(width - 2 * SIDE, given.body / _aspect(image))
    left = (width - wide) / 2
    title = paragraph(image.title, SIDE, SIDE * 0.6, width - 2 * SIDE, TITLE_SIZE, "ink", strong=True)
    picture = element(
        "image",
        x=left,
        y=given.header,
        width=wide,
        height=wide * _aspect(image),
        href=_data_uri(_enlarged(image.pixels, wide)),
    )
    frame = element(
        "rect", x=left, y=given.header, width=wide, height=wide * _aspect(image), class_="st-frame"
    )
    note = paragraph(image.note, SIDE, given.header + given.body + TICK_SIZE * 0.3, width - 2 * SIDE)
    return title + picture + frame + note


def encoded(pixels: NDArray[np.uint8]) -> bytes:
    """Rows by columns by 3 bytes as a PNG file."""
    rows, columns, _ = pixels.shape
    filtered = np.concatenate([np.zeros((rows, 1), np.uint8), pixels.reshape(rows, -1)], axis=1)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes(), 9)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_part(name, data) for name, data in parts)


def _aspect(image: Image) -> float:
    rows, columns, _ = image.pixels.shape
    return float(rows / columns)


def _enlarged(pixels: NDArray[np.uint8], wide: float) -> NDArray[np.uint8]:
    """Every pixel repeated, so that no viewer blurs them when it scales the image up."""
    times = max(1, round(DENSITY * wide / pixels.shape[1]))
    return pixels.repeat(times, axis=0).repeat(times, axis=1)


def _data_uri(pixels: NDArray[np.uint8]) -> str:
    return "data:image/png;base64," + base64.b64encode(encoded(pixels)).decode("ascii")


def _part(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
