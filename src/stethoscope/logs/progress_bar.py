"""Progress bars (tqdm) that carry a loss, one over the other by carriage returns.

    Training:   5%|5         | 270/5000 [03:02<52:03,  1.51it/s, loss=10.1178, lr=5.41e-04, step=271]
    Epoch 1/50:   3%|3       | 9/296 [00:01<00:40,  7.1it/s, loss=0.2584]
    Epoch 2: 100%|######| 10/10 [00:00<00:00, 54.1it/s, v_num=0, train_loss=0.0258, val_loss=0.104]

A bar shows the loss of the step before it moves, so the last bar at a position is that position's. Lightning
draws the bar of an epoch once more, empty, when the next one begins; and it goes on showing the values of
the last validation, which are read only where they change, and at the end of an epoch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from stethoscope.logs._reading.events import kind_of
from stethoscope.logs._reading.head import Head
from stethoscope.logs._text.counting import ALL, EPOCH, POSITION, STEP, assembled
from stethoscope.logs._text.fields import tight
from stethoscope.logs._text.grammar import Place, StepLine, confidence
from stethoscope.logs._text.rows import Assembled, RowReading, Rows
from stethoscope.run import Aggregation
from stethoscope.run.names import canonical, held_out

FORMAT = "progress bar"

_BAR = re.compile(
    r"(?P<title>[^%|]{0,200}?):?\s*\d{1,3}%\|[^|]{0,400}\|\s+(?P<done>\d{1,12})/(?P<all>\d{1,12}) "
    r"\[[^,\]]{1,40},\s*[^,\]]{1,40}, (?P<fields>[^\]]{1,2000})\]"
)
_TITLE_EPOCH = re.compile(r"[Ee]poch\D{0,3}(?P<epoch>\d{1,6})")
_NO_SIGNALS = frozenset({"v_num"})  # Lightning's number of the run


def recognise(head: Head) -> float:
    """Bars whose values include a loss."""
    if head.binary or head.prose or "%|" not in head.ends:
        return 0.0
    # Another format's log may hold bars between its lines; its own lines then say more.
    found = 0
    for line, times in head.shapes:
        found += times if _step_line(line) is not None else 0
        if found >= 3:
            break
    return 0.8 * confidence(found)


def begin(head: Head) -> RowReading:
    """Every bar that shows values."""
    return RowReading(head, FORMAT, _step_line, Aggregation.UNKNOWN, assemble=_assembled)


def _step_line(line: str) -> StepLine | None:
    found = _BAR.match(line) if "%|" in line else None
    if found is None or held_out(found["title"].strip()):
        return None
    if found.end() < len(line) and kind_of(line[found.end() :]) is not None:
        return None  # what is written behind the bar, without a line of its own
    values = {name: (start, end) for name, start, end in tight(line, *found.span("fields"))}
    if not any(canonical(name).startswith("loss") for name in values):
        return None
    step = values.pop("step", None)
    places: list[Place] = [(name, *span) for name, span in values.items() if name not in _NO_SIGNALS]
    if step is not None and line[slice(*step)].isdigit():
        return StepLine((*places, (STEP, *step), (STEP + ALL, *found.span("all"))))
    epoch = _TITLE_EPOCH.search(found["title"])
    if epoch is not None:
        places.append((EPOCH, *epoch.span("epoch")))
    return StepLine((*places, (POSITION, *found.span("done")), (POSITION + ALL, *found.span("all"))))


def _assembled(rows: Mapping[str, Rows]) -> Assembled:
    """The values at the positions of their bars."""
    rows = _without_redrawn(rows)
    epochs = rows.get(EPOCH)
    fresh = {
        name: _changed(held, epochs) if canonical(name).startswith("val/") else held
        for name, held in rows.items()
    }
    return assembled(fresh, {STEP: "step", EPOCH: "Epoch", POSITION: "the bar"})


def _without_redrawn(rows: Mapping[str, Rows]) -> dict[str, Rows]:
    """The rows without empty bars that were drawn behind a fuller one of the same epoch."""
    epoch, position = rows.get(EPOCH), rows.get(POSITION)
    if epoch is None or position is None or not np.array_equal(epoch.at, position.at):
        return dict(rows)
    same = np.append(False, np.diff(epoch.values) == 0)
    redrawn = position.at[same & (position.values == 0) & np.append(False, np.diff(position.values) < 0)]
    return {name: held.select(~np.isin(held.at, redrawn)) for name, held in rows.items()}


def _changed(held: Rows, epochs: Rows | None) -> Rows:
    """The values where they differ from the one before, and the last of every epoch."""
    different = np.append(True, np.diff(held.values) != 0)
    if epochs is not None:
        own = epochs.values[np.maximum(np.searchsorted(epochs.at, held.at, side="right") - 1, 0)]
        ends = np.append(np.diff(own) != 0, False)
        different |= ends
    return held.select(different)
