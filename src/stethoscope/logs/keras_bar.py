r"""What Keras prints while it fits, with its bar or without.

Epoch 1/10
  10/1875 [..............................] - ETA: 3s - loss: 0.3100 - accuracy: 0.9000
1875/1875 [==============================] - 3s 2ms/step - loss: 0.21 - accuracy: 0.93 - val_loss: 0.2
1875/1875 ━━━━━━━━━━━━━━━━━━━━ 3s 2ms/step - accuracy: 0.9300 - loss: 0.2100 - val_loss: 0.2
1875/1875 - 3s - 2ms/step - loss: 0.2100 - accuracy: 0.9300

Bars overprint each other by carriage returns or backspaces. The values are means since the epoch began, and
a bar that no `Epoch` heads is an evaluation after the fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.logs._finish import Finished, with_validations_ended
from stethoscope.logs._head import Head
from stethoscope.logs._numbers import LAST_STEP, NUMBER, number
from stethoscope.logs._text import TextReading
from stethoscope.run import Aggregation

FORMAT = "Keras progress"

_HEADER = re.compile(r"\s*Epoch (?P<epoch>\d{1,9})/\d{1,9}\s*")
_BAR = re.compile(
    r"[\s\b]*(?P<done>\d{1,12})/(?P<all>\d{1,12}|Unknown|\?)\s*"
    r"(?:\[[=>.]{0,200}\]|[^\x00-\x7f][^\x00-\x7f\s]{0,200})?\s*-?\s*"
    r"(?:ETA: )?(?:\d+[dhms]|\d+:\d\d)[^-]{0,40}(?=- )"
)
_FIELD = re.compile(rf"- (?P<name>[A-Za-z_][\w ./@()-]{{0,80}}?): (?P<value>{NUMBER})(?=\s|$|\x08)")


def recognise(head: Head) -> float:
    """Headers of epochs, and bars with values behind them."""
    if head.binary or head.prose:
        return 0.0
    bars = sum(times for line, times in head.shapes if _bar(line))
    headers = any(_HEADER.fullmatch(line) for line, _ in head.shapes)
    return 0.9 if bars and headers else 0.4 if bars > 1 else 0.0


def begin(head: Head) -> Finished:
    """The values of every bar."""
    fit = _Fit()
    text = TextReading(
        head,
        FORMAT,
        lambda _: None,
        Aggregation.RUNNING_MEAN,
        lambda *line: fit.see(text, *line),
        lambda _: True,
    )
    return Finished(text, (with_validations_ended,))


def _bar(line: str) -> re.Match[str] | None:
    found = _BAR.match(line)
    return found if found and _FIELD.search(line, found.end()) else None


@dataclass(slots=True)
class _Fit:
    """How far the fit is: the epoch that was headed last, the steps of those before, and its own."""

    epoch: int | None = None
    before: int | None = 0  # None where the first epoch of the log is not the first of the fit
    done: int = 0
    steps: str = ""  # of the epoch, as the bar says

    def see(self, text: TextReading, number: int, line: str, _: int | None) -> None:
        """Read one line."""
        if header := _HEADER.fullmatch(line):
            self._begin(int(header["epoch"]))
        elif bar := _bar(line):
            self._note(text, bar, number, line)
        else:
            text.scanner.see(number, line, self.step if self.epoch else None)

    @property
    def step(self) -> int:
        """The steps of the fit so far."""
        return (self.before or 0) + self.done

    def _begin(self, epoch: int) -> None:
        if self.epoch is not None and epoch == self.epoch + 1:
            self.before = self.step
        else:  # the log's first epoch, or another fit
            self.before = 0 if epoch == 1 else None
        self.epoch, self.done, self.steps = epoch, 0, ""

    def _note(self, text: TextReading, bar: re.Match[str], at: int, line: str) -> None:
        done, steps = int(bar["done"]), bar["all"]
        if self.epoch is None or (self.steps and (steps != self.steps or done < self.done)):
            self._add(text, "test/", bar, at, line)
            return
        self.done, self.steps = done, steps
        if self.before is None:
            self.before = (self.epoch - 1) * int(steps) if steps.isdigit() else 0
        if self.step <= LAST_STEP:
            self._add(text, "", bar, at, line)

    def _add(self, text: TextReading, role: str, bar: re.Match[str], at: int, line: str) -> None:
        for name, value in _fields(line, bar.end()):
            text.points.add(role + name, self.step, value, at)


def _fields(line: str, start: int) -> Iterator[tuple[str, float]]:
    for found in _FIELD.finditer(line, start):
        value = number(found["value"])
        if value is not None:
            yield found["name"], value
