"""Lines that say for the lines below them on which data these were measured.

Test Error:
 Accuracy: 18.2%, Avg loss: 2.224892

A heading holds for the lines directly below it, until one counts steps or says itself what it measured on.
Where headings name several sets of data again and again, what was measured on each is kept apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from stethoscope.logs._text.counting import ALL, RANK
from stethoscope.logs._text.roles import HELD_OUT, TRAINING, is_of_data
from stethoscope.logs._text.rows import Places, Rows, joined

# Columns beside the counters: a line with numbers that is a heading, and one that says its own role.
HEADING, TOLD = "\0heading", "\0told"

CLOSE = 2  # lines from a heading to what it holds for, and from there to the next: one may be empty
LONGEST_BLOCK = 40  # lines below one heading
MOST_SETS = 8  # of data that headings name; with more, they name something else
FEWEST_TIMES = 2  # that a set is named, to be one


def of_data(role: str, label: str) -> str:
    """What a heading marks: a role, and the set of data that it names."""
    return f"{role}\0{label}" if label else role


def under_headings(rows: Mapping[str, Rows], marks: Mapping[str, list[int]]) -> dict[str, Rows]:
    """The rows with those below a heading for held-out data under names that say so."""
    labelled = {
        said.partition("\0")[2]: np.array(places, dtype=np.int64)
        for said, places in marks.items()
        if said.partition("\0")[0] == HELD_OUT
    }
    heads = [*labelled.values(), rows[HEADING].at if HEADING in rows else np.empty(0, dtype=np.int64)]
    heading = np.unique(np.concatenate(heads))
    kept = {name: held for name, held in rows.items() if name not in {HEADING, TOLD}}
    if len(heading) == 0 or not kept:
        return kept
    ends = [held.at for name, held in rows.items() if _ends_block(name)]
    ends.append(np.array(marks.get(TRAINING, []), dtype=np.int64))
    ending = np.setdiff1d(np.concatenate(ends), heading)
    places = np.unique(np.concatenate([held.at for held in kept.values()]))
    below = np.array(list(_below(heading, places, ending)), dtype=np.int64)
    if len(below) == 0:
        return kept
    found: dict[str, list[Rows]] = {}
    for name, held in kept.items():
        governed = np.isin(held.at, below) if is_of_data(name, "val") else np.zeros(len(held), dtype=np.bool_)
        if name.startswith("\0") or not governed.any():
            found.setdefault(name, []).append(held)
            continue
        for label, part in _by_data(held.select(governed), heading, labelled):
            found.setdefault(f"val {name} ({label})" if label else f"val {name}", []).append(part)
        if not governed.all():
            found.setdefault(name, []).append(held.select(~governed))
    return {name: joined(parts) for name, parts in found.items()}


def _by_data(held: Rows, heading: Places, labelled: Mapping[str, Places]) -> Iterator[tuple[str, Rows]]:
    """What stands below headings by the data that these name; the main set, the first, without its name."""
    above = heading[np.searchsorted(heading, held.at, side="left") - 1]
    parts = {label: np.isin(above, places) for label, places in labelled.items()}
    parts = {label: part for label, part in parts.items() if part.sum() >= FEWEST_TIMES}
    if not 1 < len(parts) <= MOST_SETS:
        yield "", held
        return
    # A test set is not what training is validated on.
    others = sorted(parts, key=lambda label: (label == "test", int(np.argmax(parts[label]))))[1:]
    yield "", held.select(~np.logical_or.reduce([parts[label] for label in others]))
    for label in others:
        yield label, held.select(parts[label])


def _ends_block(name: str) -> bool:
    return name.startswith("\0") and name not in {HEADING, RANK} and not name.endswith(ALL)


def _below(heading: Places, places: Places, ending: Places) -> Iterator[int]:
    """The lines with numbers that stand directly below a heading."""
    first = np.searchsorted(places, heading, side="right").tolist()
    until = np.append(ending, np.iinfo(np.int64).max)[np.searchsorted(ending, heading, side="right")].tolist()
    for last, at, end in zip(heading.tolist(), first, until, strict=True):
        for place in places[at : at + LONGEST_BLOCK].tolist():
            if place - last > CLOSE or place >= end:
                break
            yield place
            last = place
