"""Progress bars (tqdm) that carry a loss, one over the other by carriage returns.

    Training:   5%|5         | 270/5000 [03:02<52:03,  1.51it/s, loss=10.1178, lr=5.41e-04, step=271]
    Epoch 1/50:   3%|3       | 9/296 [00:01<00:40,  7.1it/s, loss=0.2584]

A bar shows the loss of the step before it moves, so the last bar at a position is that position's.
"""

from __future__ import annotations

import re

from stethoscope.logs._fields import tight
from stethoscope.logs._head import Head
from stethoscope.logs._numbers import whole
from stethoscope.logs._text import Grammar, StepLine, confidence, read_text, step_lines
from stethoscope.run import Aggregation, Log
from stethoscope.run.names import canonical, held_out

FORMAT = "progress bar"

FILLED = 0.98  # a bar is not always drawn at its very end

_BAR = re.compile(
    r"(?P<title>[^%|]{0,200}?):?\s*\d{1,3}%\|[^|]{0,400}\| (?P<done>\d{1,12})/(?P<all>\d{1,12}) "
    r"\[[^,\]]{1,40},\s*[^,\]]{1,40}, (?P<fields>[^\]]{1,2000})\]"
)
_EPOCH = re.compile(r"[Ee]poch\D{0,3}(?P<epoch>\d{1,6})")


def recognise(head: Head) -> float:
    """Bars whose values include a loss."""
    # Another format's log may hold bars between its lines; its own lines then say more.
    return 0.8 * confidence(step_lines(head, _bars()))


def read(head: Head) -> Log:
    """Every bar that shows values."""
    return read_text(head, FORMAT, _bars(), Aggregation.UNKNOWN)


def _bars() -> Grammar:
    first_epoch: int | None = None
    before = laps = 0  # where the last bar stood, and the steps of the bars that were filled

    def step_line(line: str, _: int | None) -> StepLine | None:
        nonlocal first_epoch, before, laps
        found = _BAR.match(line) if "%|" in line else None
        if found is None or held_out(found["title"].strip()):
            return None
        values = dict(tight(found["fields"].replace(" ", "")))
        if not any(canonical(name).startswith("loss") for name in values):
            return None
        step, total = whole(values.pop("step", -1.0)), int(found["all"])
        if step is not None and step >= 0:
            return step, values.items(), total
        done = int(found["done"])
        epoch = _EPOCH.search(found["title"])
        if epoch is not None:
            first_epoch = int(epoch["epoch"]) if first_epoch is None else first_epoch
            return (int(epoch["epoch"]) - first_epoch) * total + done, values.items(), None
        if done < before and before >= FILLED * total:
            laps += total  # a bar that was full and begins again is the next epoch, not a restart
        before = done
        return laps + done, values.items(), None if laps else total

    return step_line
