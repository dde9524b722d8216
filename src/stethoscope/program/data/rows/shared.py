"""Rows that training and what is held out have in common, and statistics that both had a say in."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stethoscope.program.data.leaks import HELD_OUT, TRAINING
from stethoscope.program.data.rows.following import Followed
from stethoscope.program.data.rows.frames import Frame
from stethoscope.program.data.rows.tables import LENGTHS, Each, Numbers, Places, Rows, Thing, tables_of
from stethoscope.program.data.unscaled_siblings import TARGETS
from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

MOST_STEPS = 40_000  # expressions followed in one program
FEW = 4  # things in a row: inputs, targets and what comes with them
LARGE = 0.5  # of the smaller part: what is shared by rows next to each other may be context
# What is put together again for a last training, or is meant to be all of it.
WHOLE = frozenset({"all", "full", "whole", "both", "total", "final", "eval", "evaluation"})


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """Held-out rows that training has, or (with `measured`) that had a say in how all rows are scaled."""

    held_out: Site
    training: Site
    names: tuple[str, str]
    share: float
    measured: Site | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    name: str
    site: Site
    rows: Rows


@remembered
def shared_rows(index: Index) -> tuple[Shared, ...]:
    """Follow every body that speaks of both parts."""
    found: dict[object, Shared] = {}
    left = MOST_STEPS
    for function in index.bodies:
        if left <= 0 or is_test(function.source) or not _speaks_of_both(function):
            continue
        sure: list[dict[object, Shared]] = []
        for length in LENGTHS:  # what a written number leaves over depends on how long a table is
            with tables_of(length):
                followed = Followed(index)
                followed.body(function)
                left -= followed.steps_made
                sure.append({_key(one): one for frame in followed.frames for one in _shared_in(frame)})
            if not sure[-1]:
                break
        found.update({key: one for key, one in sure[-1].items() if all(key in seen for seen in sure)})
    return tuple(found.values())


def _key(one: Shared) -> object:
    return one.held_out.source.file, one.held_out.where.line, one.names, one.measured is None


def _speaks_of_both(function: Function) -> bool:
    spoken: set[str] = set()
    for node in all_nodes(function.node):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                if len(name) < 40:
                    spoken.update(words(name))
    return bool(spoken & TRAINING) and bool(spoken & HELD_OUT)


def _shared_in(frame: Frame) -> Iterator[Shared]:
    parts = list(_parts(frame))
    held = [one for one in parts if set(words(one.name)) & HELD_OUT and not _is_other(one, TRAINING)]
    trained = [one for one in parts if set(words(one.name)) & TRAINING and not _is_other(one, HELD_OUT)]
    for one in held:
        for other in trained:
            if one.rows.origin != other.rows.origin or not _are_pair(one, other):
                continue
            if _is_the_rest_left(parts, one, other):
                continue
            if (share := _overlap(one.rows, other.rows)) > 0:
                yield Shared(one.site, other.site, (one.name.lstrip("."), other.name.lstrip(".")), share)
                continue
            measured = _measured_over_both(one.rows, other.rows)
            if measured is not None and not TARGETS & {*words(one.name), *words(other.name)}:
                yield Shared(
                    one.site, other.site, (one.name.lstrip("."), other.name.lstrip(".")), 1.0, measured
                )


def _is_the_rest_left(parts: Sequence[_Part], held: _Part, trained: _Part) -> bool:
    """Whether what is held out was cut off what is called training, and the rest has a name of its own."""
    wanted = len(trained.rows.places) - len(held.rows.places)
    return any(
        len(one.rows.places) == wanted
        and one.rows.origin == held.rows.origin
        and not set(words(one.name)) & HELD_OUT
        and _common(one.rows.places, held.rows.places) == 0
        and _common(one.rows.places, trained.rows.places) == wanted
        for one in parts
    )


def _are_pair(one: _Part, other: _Part) -> bool:
    """Whether two names say the same beside the part, and both hold something."""
    said, told = set(words(one.name)) - HELD_OUT, set(words(other.name)) - TRAINING
    return said == told and bool(len(one.rows.places) and len(other.rows.places))


def _is_other(part: _Part, other: frozenset[str]) -> bool:
    return bool(set(words(part.name)) & (other | (WHOLE - other)) - (HELD_OUT - other))


def _parts(frame: Frame) -> Iterator[_Part]:
    """What names, attributes and entries of tables hold in the end."""
    for name, value in frame.names.items():
        node = frame.nodes.get(name)
        if node is None:
            continue
        site = Site(frame.module.source, node)
        for said, one in _entries(name, value):
            rows = _as_rows(one, frame)
            if rows is not None:
                yield _Part(said, site, rows)


def _entries(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        named = [(key, one) for key, one in value.items() if isinstance(key, str)]
        yield from (entry for key, one in named for entry in _entries(key, one))
    elif isinstance(value, list) and len(value) <= FEW:
        yield from ((name, one) for one in value)
    elif isinstance(value, Each):
        yield name, value.element
    elif not isinstance(value, Thing):
        yield name, value


def _as_rows(value: Any, frame: Frame) -> Rows | None:
    if isinstance(value, Rows):
        return value
    if isinstance(value, Numbers):
        is_mask = value.places.dtype == bool
        places = np.flatnonzero(value.places) if is_mask else value.places
        return Rows((frame, is_mask and len(value.places)), places, value.guessed)
    return None


def _overlap(held: Rows, trained: Rows) -> float:
    """The share of the smaller part that both have; nothing where nobody can know."""
    if held.guessed and trained.guessed and held.guessed != trained.guessed:
        return 0.0
    if held.is_whole and trained.is_whole:
        return 0.0
    common = _common(held.places, trained.places)
    share = common / min(len(held.places), len(trained.places))
    return share if share >= LARGE or (common and not _are_ranges(held.places, trained.places)) else 0.0


def _common(one: Places, other: Places) -> int:
    return int(np.isin(one, other, kind="table").sum())


def _are_ranges(*parts: Places) -> bool:
    return all(len(one) < 2 or bool(np.all(np.diff(one) == 1)) for one in parts)


def _measured_over_both(held: Rows, trained: Rows) -> Site | None:
    """A statistic that changed both parts and was taken over both."""
    for statistic in held.scaled:
        if statistic.origin != held.origin or not any(statistic is other for other in trained.scaled):
            continue
        shares = [_common(part.places, statistic.places) / len(part.places) for part in (held, trained)]
        if min(shares) >= LARGE:
            return statistic.site
    return None
