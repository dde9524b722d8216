"""Cells with decimal commas, as half of Europe writes them: 1.200;0,4471;1,5e-4."""

from __future__ import annotations

import re

# 1,5 or 0,001: a comma that separates no thousands.
_DECIMAL_COMMA = re.compile(rb"(?<![\d,.])(?:0,\d|\d{1,15},(?:\d{1,2}|\d{4,17})(?![\d,]))")
# Whole cells: 1,234 between semicolons; 1.234,5 with points for thousands; 12.75 with a decimal point.
_BEFORE, _AFTER = rb"(?<![^;\t|\s\"])", rb"(?:[eE][-+]?\d{1,3})?%?(?![^;\t|\s\"])"
_COMMA_CELL = re.compile(_BEFORE + rb"[-+]?\d{1,15},\d{1,17}" + _AFTER)
_GROUPED_CELL = re.compile(_BEFORE + rb"[-+]?\d{1,3}(?:\.\d{3}){1,4},\d{1,17}" + _AFTER)
_POINT_CELL = re.compile(_BEFORE + rb"[-+]?(?:\d{1,3}(?:,\d{3})+|\d{0,15})\.(?:\d{1,2}|\d{4,17})" + _AFTER)
_GERMAN_CELL = re.compile(
    _BEFORE + rb"([-+]?(?:\d{1,3}(?:\.\d{3}){1,4}|\d{1,15}))(,\d{1,17})?(" + _AFTER + rb")"
)


def has_decimal_commas(rows: bytes, separator: str | None) -> bool:
    """Whether numbers are written as 0,5 or 1.234,5: no cell has a decimal point then."""
    if separator == "," or b"," not in rows or _POINT_CELL.search(rows):
        return False
    marks = (_COMMA_CELL, _GROUPED_CELL) if separator == ";" else (_DECIMAL_COMMA, _GROUPED_CELL)
    return any(mark.search(rows) for mark in marks)


def with_points(block: bytes) -> bytes:
    """A block of numbers with decimal commas, with decimal points."""
    if b"." not in block:
        return block.replace(b",", b".")
    return _GERMAN_CELL.sub(_with_point, block)


def _with_point(cell: re.Match[bytes]) -> bytes:
    return cell[1].replace(b".", b"") + (cell[2] or b"").replace(b",", b".") + cell[3]
