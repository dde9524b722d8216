"""Progress bars (tqdm) that carry a loss, one over the other by carriage returns.

    Training:   5%|5         | 270/5000 [03:02<52:03,  1.51it/s, loss=10.1178, lr=5.41e-04, step=271]
    Epoch 1/50:   3%|3       | 9/296 [00:01<00:40,  7.1it/s, loss=0.2584]

A bar shows the loss of the step before it moves, so the last bar at a position is that position's.
"""

from __future__ import annotations

import re
from dataclasses import replace

from stethoscope.logs._fields import tight
from stethoscope.logs._grammar import StepLine, confidence, step_lines
from stethoscope.logs._head import Head
from stethoscope.logs._text import TextReading
from stethoscope.run import Aggregation
from stethoscope.run.names import canonical, held_out

FORMAT = "progress bar"

LONGEST_TITLE = 200  # characters

_BAR = re.compile(
    r"(?P<title>[^%|]{0,200}?):?\s*\d{1,3}%\|[^|]{0,400}\| (?P<done>\d{1,12})/(?P<all>\d{1,12}) "
    r"\[[^,\]]{1,40},\s*[^,\]]{1,40}, (?P<fields>[^\]]{1,2000})\]"
)
_EPOCH = re.compile(r"[Ee]poch\D{0,3}(?P<epoch>\d{1,6})")


def recognise(head: Head) -> float:
    """Bars whose values include a loss."""
    # Another format's log may hold bars between its lines; its own lines then say more.
    return 0.8 * confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every bar that shows values."""
    epochs = [
        int(found["epoch"]) for line, _ in head.shapes if (found := _EPOCH.search(line[:LONGEST_TITLE]))
    ]
    first_epoch = min(epochs, default=0)

    def step_line(line: str) -> StepLine | None:
        found = _step_line(line)
        return replace(found, first_epoch=first_epoch) if found else None

    return TextReading(head, FORMAT, step_line, Aggregation.UNKNOWN)


def _step_line(line: str) -> StepLine | None:
    found = _BAR.match(line) if "%|" in line else None
    if found is None or held_out(found["title"].strip()):
        return None
    values = {name: (start, end) for name, start, end in tight(line, *found.span("fields"))}
    if not any(canonical(name).startswith("loss") for name in values):
        return None
    step = values.pop("step", None)
    places = tuple((name, *span) for name, span in values.items())
    if step is not None and line[slice(*step)].isdigit():
        return StepLine(places, step, found.span("all"))
    epoch = _EPOCH.search(found["title"])
    if epoch is not None:
        return StepLine(places, found.span("done"), epoch=epoch.span("epoch"), epoch_length=found.span("all"))
    return StepLine(places, found.span("done"), found.span("all"), laps=True)
