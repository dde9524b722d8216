"""What slices, orders, masks and libraries do to rows."""

from __future__ import annotations

import ast
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from stethoscope.program.data.rows.tables import (
    COUNT,
    SHARE,
    Numbers,
    Places,
    Rows,
    numbered,
    table,
)

LENGTH = 100  # a number that is as large counts rows


# Choosing


def piece(value: Any, place: int) -> Any:
    """One of the parts of something that is unpacked, of which nothing is known."""
    return table((value.origin, place)) if isinstance(value, Rows) else table(object())


def cut(held: Any, ends: Sequence[Any]) -> Any:
    """`rows[a:b:c]`."""
    if not all(one is None or type(one) in {int, float} for one in ends):
        return table(object())
    where = slice(*(None if one is None else int(one) for one in ends))
    if isinstance(held, Rows):
        return held.chosen(np.arange(len(held.places))[where])
    if isinstance(held, Numbers):
        return Numbers(held.places[where], held.guessed)
    return held[where] if isinstance(held, list | str) else table(object())


def taken(held: Any, key: Any) -> Any:
    """`rows[key]`."""
    match held, key:
        case dict(), str():
            return held.get(key, table(object()))
        case list(), int() if -len(held) <= key < len(held):
            return held[key]
        case Rows(), str():
            return held
        case Rows(), list() if key and all(isinstance(one, str) for one in key):
            return held
        case Rows(), int() if key < 0 or not held.is_whole:
            fits = -len(held.places) <= key < len(held.places)
            return held.chosen(np.asarray([key])) if fits else table(object())
        case Rows(), int():
            return table((held.origin, key))
    chosen = numbered(key)
    if chosen is None or not isinstance(held, Rows | Numbers):
        return table(object())
    at = _places(chosen, len(held.places))
    if at is None:
        return table(object())
    if isinstance(held, Rows):
        return held.chosen(at, chosen.guessed)
    return Numbers(held.places[at], held.guessed | chosen.guessed)


def _places(chosen: Numbers, count: int) -> Places | None:
    """The places that a mask or numbers choose among so many."""
    if chosen.places.dtype == bool:
        return np.flatnonzero(chosen.places) if len(chosen.places) == count else None
    fits = len(chosen.places) and -count <= chosen.places.min() and chosen.places.max() < count
    return chosen.places if fits else None


def marked(held: Numbers, at: Any, value: Any) -> Any:
    """`mask[at] = value`."""
    chosen = numbered(at)
    where = _places(chosen, len(held.places)) if chosen is not None else None
    if chosen is None or where is None or value not in (0, 1):
        return table(object())
    places = held.places.copy()
    places[where] = bool(value)
    return Numbers(places, held.guessed | chosen.guessed)


def guessed_mask(count: int, text: str) -> Numbers:
    """Some of the rows, always the same for one condition."""
    rng = np.random.default_rng(zlib.crc32(text.encode()))
    return Numbers(rng.uniform(size=count) < 0.3, frozenset({text}))


def shuffled(held: Any, text: str) -> Any:
    """The same in an order that is drawn, always the same for one text."""
    known = numbered(held)
    rows = held if isinstance(held, Rows) else known
    if rows is None:
        return table(object())
    order = np.random.default_rng(zlib.crc32(text.encode())).permutation(len(rows.places))
    return held.chosen(order) if isinstance(held, Rows) else Numbers(rows.places[order], rows.guessed)


# Operators


def turned(op: ast.unaryop, held: Any) -> Any:
    """`-n`, `~mask`."""
    if isinstance(op, ast.USub):
        return -held if type(held) in {int, float} else -COUNT if isinstance(held, Rows) else table(object())
    if isinstance(op, ast.Invert | ast.Not) and isinstance(held, Numbers) and held.places.dtype == bool:
        return Numbers(~held.places, held.guessed)
    return (not held) if isinstance(op, ast.Not) and isinstance(held, bool) else None


def united(op: ast.operator, left: Any, right: Any) -> Any:
    """Masks that are combined, sets of numbers that are taken from each other."""
    one, other = numbered(left), numbered(right)
    if one is None or other is None:
        return table(object())
    guessed = one.guessed | other.guessed
    are_masks = one.places.dtype == bool == other.places.dtype and len(one.places) == len(other.places)
    match op:
        case ast.BitAnd() if are_masks:
            return Numbers(one.places & other.places, guessed)
        case ast.BitOr() if are_masks:
            return Numbers(one.places | other.places, guessed)
        case ast.Sub() if not are_masks:
            return Numbers(np.setdiff1d(one.places, other.places), guessed)
        case ast.Add() if not are_masks:
            return Numbers(np.concatenate([one.places, other.places]), guessed)
    return table(object())


def taken_for_numbers(op: ast.operator, left: Any, right: Any) -> tuple[Any, Any]:
    """Both sides as numbers; one that is not known is a share of a length, or a count."""
    are = [type(one) in {int, float} for one in (left, right)]
    if all(are):
        return left, right
    if are[0] and isinstance(right, Rows) and isinstance(op, ast.Mult | ast.Sub | ast.Add):
        is_share = left >= LENGTH if isinstance(op, ast.Mult) else abs(left) <= 1
        return left, SHARE if is_share else COUNT
    if are[1] and isinstance(left, Rows) and right >= LENGTH and isinstance(op, ast.Mult | ast.Add):
        return SHARE if isinstance(op, ast.Mult) else COUNT, right
    return None, None
