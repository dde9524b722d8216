"""nnU-Net's training_log, of both versions. Its losses are negative: they hold minus the Dice score.

2023-03-21 20:22:29.132775: Epoch 12
2023-03-21 20:22:29.133012: Current learning rate: 0.00989
2023-03-21 20:24:29.132775: train_loss -0.7526
2023-03-21 20:24:29.132901: val_loss -0.752
2023-03-21 20:24:29.133012: Pseudo dice [0.8399, np.float32(0.7121)]
2023-03-21 20:24:29.133203: Epoch time: 61.1 s

2022-02-11 09:32:44.207069:
epoch:  6
2022-02-11 09:34:49.625515: train loss : -0.6584
2022-02-11 09:34:59.688008: validation loss: -0.7226
2022-02-11 09:34:59.688808: Average global foreground Dice: [0.8837]
2022-02-11 09:35:00.857095: lr: 0.009937
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.events import may_announce
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER, PLAIN_NUMBER, number
from stethoscope.logs._reading.points import Points
from stethoscope.logs._text.finish import Finished, on_epochs
from stethoscope.logs._text.grammar import StepLine
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation

FORMAT = "nnU-Net log"

MOST_CLASSES = 256  # of which the Dice score is kept, each by itself

_STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,6}:\s*"
_EPOCH = re.compile(rf"(?:{_STAMP})?[Ee]poch:?\s+(?P<epoch>\d{{1,6}})\s*")
_VALUE = re.compile(
    rf"{_STAMP}(?P<name>train_loss|val_loss|train loss|validation loss|Current learning rate|lr|Epoch time"
    rf"|This epoch took|Mean Validation Dice)\s*:?\s*(?P<value>{NUMBER})(?: s)?\s*"
)
_DICE = re.compile(r"(?:Pseudo dice|Average global foreground Dice:?)\s*\[(?P<scores>[^\]]{1,20000})\]")
_WRAPPED = re.compile(r"np\.float\d+\(|array\(")
_SPOKEN = {
    "Current learning rate": "lr",
    "Epoch time": "epoch time",
    "This epoch took": "epoch time",
    "Mean Validation Dice": "final validation dice",
}


def recognise(head: Head) -> float:
    """Losses behind a time stamp with fractions of a second, and lines that number the epochs."""
    if head.binary or head.prose:
        return 0.0
    losses = [
        line for line, _ in head.shapes if (value := _VALUE.fullmatch(line)) and "loss" in value["name"]
    ]
    epochs = any(_EPOCH.fullmatch(line) for line, _ in head.shapes)
    return 0.95 if losses and epochs else 0.0


def begin(head: Head) -> Finished:
    """Every epoch's losses, rate and scores."""
    text = TextReading(head, FORMAT, _step_line, Aggregation.WINDOW_MEAN, _see_scores, _wanted)
    return Finished(text, (on_epochs,))


def _step_line(line: str) -> StepLine | None:
    if found := _EPOCH.fullmatch(line):
        return StepLine((), found.span("epoch"))
    if found := _VALUE.fullmatch(line):
        return StepLine(((_SPOKEN.get(found["name"], found["name"]), *found.span("value")),))
    return None


def _wanted(line: str) -> bool:
    return "dice" in line.lower() or may_announce(line)


def _see_scores(points: Points, at: int, line: str, step: int | None) -> bool:
    """The Dice score of each class, and their mean over the classes that were there to be found."""
    found = _DICE.search(line)
    if found is None:
        return False
    epoch = step or 0
    tokens = re.findall(PLAIN_NUMBER, _WRAPPED.sub("", found["scores"]))[:MOST_CLASSES]
    values = [value for token in tokens if (value := number(token)) is not None]
    there = {nth: value for nth, value in enumerate(values, 1) if value == value}
    if there:
        points.add("val/dice", epoch, sum(there.values()) / len(there), at)
    if len(values) > 1:
        for nth, value in there.items():
            points.add(f"val/dice/class {nth}", epoch, value, at)
    return True
