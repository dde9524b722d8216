"""JSON as training writes it: NaN and Infinity literals, numbers in quotes, and whatever a cut left over."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping

from stethoscope.logs._reading.numbers import number
from stethoscope.logs._tables.table import flattened

_DECODER = json.JSONDecoder()
# StyleGAN judges its snapshots: the thousands of images they have seen stand in the file's name.
KIMG_IN_NAME = "snapshot_pkl"
_KIMG = re.compile(r"(\d{1,12})\.pkl$")


def record_in(line: str) -> dict[str, object] | None:
    """The object that a line holds; None where it holds none."""
    try:
        found = _DECODER.decode(line)
    except (ValueError, RecursionError):  # ValueError: not JSON, or an integer of thousands of digits
        return None
    return found if isinstance(found, dict) else None


def records_from(text: str, start: int) -> Iterator[tuple[int, dict[str, object]]]:
    """The objects of an array whose `[` stands at `start`, as far as they are whole, each with its line."""
    at = start + 1
    line, counted = 1, 0
    while True:
        at = _next_object(text, at)
        if at < 0:
            return
        line, counted = line + text.count("\n", counted, at), at
        try:
            found, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        if isinstance(found, dict):
            yield line, found


def records_by_name(text: str, start: int) -> Iterator[tuple[int, str, dict[str, object]]]:
    """The objects of an object whose `{` stands at `start`, as far as they are whole: line, name, object."""
    at = start + 1
    line, counted = 1, 0
    while (named := _MEMBER.match(text, at)) is not None:
        line, counted = line + text.count("\n", counted, named.start(1)), named.start(1)
        try:
            found, at = _DECODER.raw_decode(text, named.end())
        except (ValueError, RecursionError):
            return
        if isinstance(found, dict):
            yield line, named[1], found


_MEMBER = re.compile(r'[\s,]*"([^"\\]{0,200})"\s*:\s*')


def _next_object(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at if at < len(text) and text[at] == "{" else -1


def numbers_of(record: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    """The numbers of a record by path."""
    if all(type(value) is float or type(value) is int for value in record.values()):
        yield from ((name, value_of(value) or 0.0) for name, value in record.items())
        return
    for name, value in flattened(record):
        found = value_of(value)
        if found is not None:
            yield name, found
        elif name == KIMG_IN_NAME and isinstance(value, str) and (kimg := _KIMG.search(value)):
            yield "kimg", float(kimg[1])


def value_of(value: object) -> float | None:
    """A number of a JSON document, also one in quotes; None for anything else."""
    if type(value) is float:
        return value
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        return number(value)
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return None
