"""Boxes of names and values: OpenAI's baselines, guided diffusion, Stable-Baselines, Spinning Up.

    -------------------------           ---------------------------------
    | grad_norm  | 12.8     |           | rollout/           |          |
    | loss       | 1.99     |           |    ep_rew_mean     | 20.1     |
    | step       | 2.32e+03 |           | time/              |          |
    -------------------------           |    total_timesteps | 64       |

A box is one step, which stands anywhere in it. OpenAI's logger prints three digits: from step 1000 on,
steps repeat. Where the boxes before show a fixed interval and it agrees with all that is printed, the steps
are counted on by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._reading.points import Points
from stethoscope.logs._text.grammar import StepLine
from stethoscope.logs._text.rows import Assembled, Places, RowReading, Rows, add_rows, joined, whole_numbers
from stethoscope.run import Aggregation
from stethoscope.run.names import known

FORMAT = "boxed tables"

DIGITS = 3  # that OpenAI's logger prints
FEWEST_EXACT = 3  # boxes by which an interval is known

_CELL = re.compile(
    rf"\s*\|(?P<indent>\s+)(?P<name>[A-Za-z_][^|]{{0,100}}?)\s*\|\s*(?P<value>-?{NUMBER})\s*\|\s*"
)
_RULE = re.compile(r"\s*-{10,}\s*")
_SECTION = re.compile(r"\s*\| (?P<name>[A-Za-z_][\w ./-]{0,60})/\s*\|\s*\|\s*")
_RULED, _WITHIN = "rule", "section "
# What counts, the most telling first.
_STEPS = (
    *("step", "total_timesteps", "total timesteps", "total_steps", "totalenvinteracts", "timestepssofar"),
    *("total-timesteps", "nupdates", "n_updates", "iterations", "iteration", "iter", "misc/nupdates"),
)
_EPOCHS = ("epoch", "misc/epoch")


def recognise(head: Head) -> float:
    """Boxes between rules, with a step and a signal known by name."""
    if head.binary or head.prose or "----------" not in head.ends:
        return 0.0
    names = {found["name"].strip() for line, _ in head.shapes if (found := _CELL.fullmatch(line))}
    counted = any(_spoken(name) in (*_STEPS, *_EPOCHS) for name in names)
    ruled = any(_RULE.fullmatch(line) for line, _ in head.shapes)
    return 0.9 if ruled and counted and any(map(known, names)) else 0.0


def begin(head: Head) -> RowReading:
    """Every box."""
    reading = RowReading(head, FORMAT, _step_line, Aggregation.WINDOW_MEAN, mark=_mark)
    reading.assemble = lambda rows: _assembled(rows, reading.marks)
    return reading


def _step_line(line: str) -> StepLine | None:
    found = _CELL.fullmatch(line)
    return StepLine(((found["name"].strip(), *found.span("value")),)) if found else None


def _mark(line: str) -> str | None:
    if _RULE.fullmatch(line):
        return _RULED
    section = _SECTION.fullmatch(line)
    return _WITHIN + section["name"] if section else None


def _spoken(name: str) -> str:
    return name.rpartition("/")[2].strip().lower()


# --- boxes --------------------------------------------------------------------------------------------


def _assembled(rows: Mapping[str, Rows], marks: Mapping[str, list[int]]) -> Assembled:
    """Each value at the step of its box."""
    signals = dict(_sectioned(rows, marks))
    rules = np.sort(np.array(marks.get(_RULED, []), dtype=np.int64))
    counter, axis = _counter(signals)
    points = Points()
    if counter is None:
        for name, held in signals.items():
            add_rows(points, name, held, np.searchsorted(rules, held.at) // 2, "row")
        return Assembled(points, notes=("no value in the boxes counts steps: boxes are counted instead",))
    counted, steps = whole_numbers(signals.pop(counter))
    steps, notes = _unrounded(steps, counter)
    boxes = np.searchsorted(rules, counted.at)
    for name, held in signals.items():
        place = np.searchsorted(boxes, np.searchsorted(rules, held.at))
        inside = place < len(boxes)
        inside[inside] = boxes[place[inside]] == np.searchsorted(rules, held.at[inside])
        add_rows(points, name, held.select(inside), steps[place[inside]], axis)
    return Assembled(points, (counted.lines, steps) if axis == "step" else None, notes=notes)


def _counter(signals: Mapping[str, Rows]) -> tuple[str | None, str]:
    spoken = {_spoken(name): name for name in signals}
    for word in _STEPS:
        if word in spoken:
            return spoken[word], "step"
    return next(((spoken[word], "epoch") for word in _EPOCHS if word in spoken), (None, "row"))


def _sectioned(rows: Mapping[str, Rows], marks: Mapping[str, list[int]]) -> list[tuple[str, Rows]]:
    """The values under the section that they stand in: Stable-Baselines indents them below `train/`."""
    sections = [
        (at, name.removeprefix(_WITHIN)) for name, places in marks.items() for at in places if name != _RULED
    ]
    if not sections:
        return list(rows.items())
    sections += [(at, "") for at in marks.get(_RULED, [])]
    sections.sort()
    at = np.array([place for place, _ in sections], dtype=np.int64)
    parts: dict[str, list[Rows]] = {}
    for name, held in rows.items():
        within = np.searchsorted(at, held.at) - 1
        said = np.array([section for _, section in sections], dtype=object)[np.maximum(within, 0)]
        for section in dict.fromkeys(said.tolist()):
            full = f"{section}/{name}" if section else name
            parts.setdefault(full, []).append(held.select(said == section))
    return [(name, joined(held)) for name, held in parts.items()]


def _unrounded(steps: Places, counter: str) -> tuple[Places, tuple[str, ...]]:
    """Steps that were printed to three digits, as far as a fixed interval tells them."""
    large = steps[steps >= 10**DIGITS]
    scale = 10.0 ** (np.floor(np.log10(np.maximum(large, 1))) - DIGITS + 1)
    if len(large) == 0 or (large % scale != 0).any() or len(np.unique(large)) == len(large):
        return steps, ()
    exact = steps[: int(np.argmax(steps >= 10**DIGITS))]
    gaps = np.diff(exact)
    said = f"{counter} is printed to {DIGITS} digits: from {10**DIGITS} on, steps are near what they say"
    if len(exact) < FEWEST_EXACT or (gaps != gaps[0]).any() or gaps[0] <= 0:
        return steps, (said,)
    counted = exact[0] + gaps[0] * np.arange(len(steps), dtype=np.int64)
    slack = 0.51 * 10.0 ** (np.floor(np.log10(np.maximum(steps, 1))) - DIGITS + 1)
    if (np.abs(counted - steps) > np.maximum(slack, 0.5)).any():
        return steps, (said,)
    return counted, (
        f"{counter} is printed to {DIGITS} digits: counted on by {int(gaps[0])} from box to box",
    )
