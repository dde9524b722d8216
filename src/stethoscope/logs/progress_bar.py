"""Progress bars (tqdm) that carry a loss, one over the other by carriage returns.

    Training:   5%|5         | 270/5000 [03:02<52:03,  1.51it/s, loss=10.1178, lr=5.41e-04, step=271]
    Epoch 1/50:   3%|3       | 9/296 [00:01<00:40,  7.1it/s, loss=0.2584]
    Epoch 2: 100%|######| 10/10 [00:00<00:00, 54.1it/s, v_num=0, train_loss=0.0258, val_loss=0.104]
    Loss 0.8793 | Val 0.4856:   3%|3         | 1/30 [00:01<00:36,  1.25s/it]
    Epoch 1/6 val_loss=0.4951

The last bar at a position is that position's, unless the bar moves by several steps at a time and is drawn
with their loss before it moves. Lines between the bars are read for what they tell of a validation, and so
are bars that show nothing else.
Lightning draws the bar of an epoch once more, empty, when the next one begins; and it goes on showing the
values of the last validation, which are read only where they change, and at the end of an epoch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.events import kind_of
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER, number
from stethoscope.logs._text.counting import ALL, EPOCH, POSITION, STEP, assembled
from stethoscope.logs._text.grammar import Place, Span, StepLine, confidence
from stethoscope.logs._text.pairs import parsed
from stethoscope.logs._text.roles import placed
from stethoscope.logs._text.rows import Assembled, Places, RowReading, Rows
from stethoscope.logs._text.unnamed_losses import losses_by_numbers, totals_of_terms
from stethoscope.run import Aggregation
from stethoscope.run.names import canonical, held_out

FORMAT = "progress bar"

_BAR = re.compile(
    r"(?P<title>[^%]{0,200}?):?\s*\d{1,3}%\|[^|]{0,400}\|\s+(?P<done>\d{1,12})/(?P<all>\d{1,12}) "
    r"\[[^,\]]{1,40},\s*[^,\]]{1,40}(?:, (?P<fields>[^\]]{1,2000}))?\]"
)
# A key may have several words: `Loss=1.34, Depth Loss=0.0`.
_POSTFIX = re.compile(
    rf"(?<![\w./-])(?P<name>[^\W\d][\w./()@-]{{0,60}}(?: [^\W\d][\w./()@-]{{0,60}}){{0,3}})\s?[:=]\s*"
    rf"(?P<value>{NUMBER})(?P<unit>ms|s|%)?(?=[\s,;|)\]}}]|$)"
)
_TITLE_EPOCH = re.compile(r"[Ee]poch\D{0,3}(?P<epoch>\d{1,6})")
_NO_SIGNALS = frozenset({"v_num"})  # Lightning's number of the run
_WORDS = re.compile(r"[\s_./-]+")
BETWEEN = "\0between"  # a line that is no bar, or a bar that was drawn for a validation alone
LONGEST_BETWEEN = 400  # characters
MOSTLY = 0.6  # of its moves, a bar is drawn with what it showed before; it is not drawn at every move


def recognise(head: Head) -> float:
    """Bars whose values include a loss."""
    if head.binary or head.prose or "%|" not in head.ends:
        return 0.0
    # Another format's log may hold bars between its lines; its own lines then say more.
    found = 0
    for line, times in head.shapes:
        found += times if "%|" in line and _step_line(line) is not None else 0
        if found >= 3:
            break
    return 0.8 * confidence(found)


def begin(head: Head) -> RowReading:
    """Every bar that shows values."""
    return RowReading(head, FORMAT, _step_line, Aggregation.UNKNOWN, assemble=_assembled)


def _step_line(line: str) -> StepLine | None:
    found = _BAR.match(line) if "%|" in line else None
    if found is None:
        return _between(line)
    if held_out(found["title"].strip()):
        return None
    if found.end() < len(line) and kind_of(line[found.end() :]) is not None:
        return None  # what is written behind the bar, without a line of its own
    values = dict(_postfix(line, found))
    if not any(map(_tells, values)):
        values |= _described(found["title"])
    if not any(map(_tells, values)):
        return None
    step = values.pop("step", None)
    places: list[Place] = [(name, *span) for name, span in values.items() if name not in _NO_SIGNALS]
    if not any(canonical(name).startswith("loss") for name in values):
        places.append(
            (BETWEEN, *places[0][1:])
        )  # drawn for a validation, and not for what it still shows of one
    if step is not None and line[slice(*step)].isdigit():
        return StepLine((*places, (STEP, *step), (STEP + ALL, *found.span("all"))))
    epoch = _TITLE_EPOCH.search(found["title"])
    if epoch is not None:
        places.append((EPOCH, *epoch.span("epoch")))
    return StepLine((*places, (POSITION, *found.span("done")), (POSITION + ALL, *found.span("all"))))


def _postfix(line: str, bar: re.Match[str]) -> Iterator[tuple[str, Span]]:
    """The values that a bar shows behind its speed."""
    if bar["fields"] is None:
        return
    for found in _POSTFIX.finditer(line, *bar.span("fields")):
        value = number(found["value"])
        if value is not None and (math.isfinite(value) or found["unit"] not in {"ms", "s"}):
            yield found["name"], found.span("value")


def _described(title: str) -> dict[str, Span]:
    """The values in a bar's description: `Loss 0.8793 | Val 0.4856:   3%|..`."""
    return {name: one.span for name, one in placed(parsed(title), title) if not name.startswith("\0")}


def _between(line: str) -> StepLine | None:
    """What a line between the bars tells of a validation; its step is that of the bar before."""
    if len(line) > LONGEST_BETWEEN or not any(map(str.isdigit, line)) or kind_of(line) is not None:
        return None
    found = parsed(line)
    values = ((name, one) for name, one in placed(found, line) if not name.startswith("\0"))
    kept = [(name, *one.span) for name, one in values if canonical(name).startswith("val/") and _says(name)]
    return StepLine((*kept, (BETWEEN, *kept[0][1:]))) if kept else None


def _tells(name: str) -> bool:
    """Whether a value says how a training goes: its loss, or what was measured on held-out data."""
    known = canonical(name)
    return known.startswith("loss") or (known.startswith("val/") and _says(name))


def _says(name: str) -> bool:
    """Whether a name itself says that it was measured on held-out data."""
    return any(held_out(word) for word in _WORDS.split(name) if word)


def _assembled(rows: Mapping[str, Rows]) -> Assembled:
    """The values at the positions of their bars."""
    lines = rows[BETWEEN].at if BETWEEN in rows else np.empty(0, dtype=np.int64)
    rows = _shown_before_moves(_without_redrawn(_behind_first_bar(rows)))
    epochs = rows.get(EPOCH)
    fresh = {
        name: _changed(held, epochs, lines) if canonical(name).startswith("val/") else held
        for name, held in rows.items()
    }
    found = assembled(fresh, {STEP: "step", EPOCH: "Epoch", POSITION: "the bar"})
    return replace(found, names=losses_by_numbers(found.points) | totals_of_terms(found.points))


def _behind_first_bar(rows: Mapping[str, Rows]) -> dict[str, Rows]:
    """The rows without lines before the first bar: they tell of another run."""
    bars = [rows[name].at for name in (STEP, POSITION) if name in rows]
    first = min((int(at[0]) for at in bars if len(at)), default=0)
    kept = {name: held.select(held.at >= first) for name, held in rows.items() if name != BETWEEN}
    return {name: held for name, held in kept.items() if len(held)}


def _shown_before_moves(rows: Mapping[str, Rows]) -> dict[str, Rows]:
    """The rows of a bar that gets its values before it moves by several steps, at where it moves to.

    Drawn twice at every position, such a bar shows first what belongs to it, then what belongs to the next.
    """
    position = rows.get(POSITION)
    loss = next((held for name, held in rows.items() if canonical(name).startswith("loss")), None)
    if position is None or loss is None or not np.array_equal(position.at, loss.at) or len(loss) < 4:
        return dict(rows)
    moved, same = np.diff(position.values) > 0, np.diff(loss.values) == 0
    again = np.diff(position.values) == 0
    if position.values[0] != 0 or not moved.any() or not again.any():
        return dict(rows)
    if np.median(np.diff(position.values)[moved]) <= 1:
        return dict(rows)  # step by step, the last value at a position is the step's that is counted from 0
    if same[moved].mean() < MOSTLY or same[again].mean() > 1 - MOSTLY:
        return dict(rows)
    return {name: _at_moves(name, held, position.at, moved) for name, held in rows.items()}


def _at_moves(name: str, held: Rows, bars: Places, moved: npt.NDArray[np.bool_]) -> Rows:
    """What was shown last before each move, where the bar has moved to; what counts, as it is there."""
    if name.startswith("\0") or not np.array_equal(held.at, bars):
        return held.select(np.isin(held.at, bars[1:][moved]) | ~np.isin(held.at, bars))
    return Rows(held.at[1:][moved], held.lines[1:][moved], held.values[:-1][moved])


def _without_redrawn(rows: Mapping[str, Rows]) -> dict[str, Rows]:
    """The rows without empty bars that were drawn behind a fuller one of the same epoch."""
    epoch, position = rows.get(EPOCH), rows.get(POSITION)
    if epoch is None or position is None or not np.array_equal(epoch.at, position.at):
        return dict(rows)
    same = np.append(False, np.diff(epoch.values) == 0)
    redrawn = position.at[same & (position.values == 0) & np.append(False, np.diff(position.values) < 0)]
    return {name: held.select(~np.isin(held.at, redrawn)) for name, held in rows.items()}


def _changed(held: Rows, epochs: Rows | None, lines: Places) -> Rows:
    """The values where they differ from the one before or have a line of their own, and an epoch's last."""
    different = np.append(True, held.values[1:] != held.values[:-1]) | np.isin(held.at, lines)
    if epochs is not None:
        own = epochs.values[np.maximum(np.searchsorted(epochs.at, held.at, side="right") - 1, 0)]
        ends = np.append(np.diff(own) != 0, False)
        different |= ends
    return held.select(different)
