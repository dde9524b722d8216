"""fairseq's log (and metaseq's): JSON inside log lines, or text between commas and bars.

[2022-08-02 00:57:06,864][train_inner][INFO] - {"epoch": 6, "update": 5.028, "loss": "2.318", "num_updates": \
"258800", "lr": "0.0004", "gnorm": "0.68", "loss_scale": "16"}
2020-08-01 12:39:39 | INFO | train_inner | epoch 001:   3615 / 6547 loss=0.439, ppl=1.36, num_updates=3600
| epoch 001:   3615 / 6547 loss=0.439, nll_loss=0.001, wps=82565, num_updates=3600, lr=9e-06, gnorm=3.952
2020-08-01 12:45:00 | INFO | train | epoch 001 | loss 8.9 | nll_loss 8.1 | ppl 300 | num_updates 5000
2020-08-01 12:46:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 7.1 | num_updates 5000
[...][valid][INFO] - {"epoch": 1, "valid_loss": "7.1", "valid_ppl": "69", "valid_num_updates": "5000"}

Values are means since the line before; those of an epoch begin with `train_`. Losses are in bits (base 2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import PLAIN_NUMBER
from stethoscope.logs._text.fields import separated, tight
from stethoscope.logs._text.grammar import Place, StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation

FORMAT = "fairseq log"

_JSON = re.compile(r"(?:^|[\s|\]-])\{\"epoch\": ")
_PAIR = re.compile(
    rf"\"(?P<name>\w[\w./@-]{{0,80}})\": (?P<quote>\"?)(?P<value>{PLAIN_NUMBER})(?P=quote)(?=[,}}])"
)
_INNER = re.compile(
    r"(?:^|[|-] )epoch (?P<epoch>\d{1,6}):\s+(?P<step>\d{1,9}) / (?P<length>\d{1,9}) (?=\w+=)"
)
_WHOLE = re.compile(
    r"(?:^|[|-] )epoch (?P<epoch>\d{1,6}) \| (?:(?P<set>\w{1,40}) on '(?P<subset>[^'|]{1,80})' subset \| )?"
)
_UPDATES = "num_updates"
_RECORDS = re.compile(r"(?:^|_)best_")


def recognise(head: Head) -> float:
    """Lines of an epoch's number and values that include the number of updates."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every training line, and every epoch's end."""
    return TextReading(head, FORMAT, _step_line, Aggregation.WINDOW_MEAN)


def _step_line(line: str) -> StepLine | None:
    if found := _JSON.search(line):
        pairs = _PAIR.finditer(line, found.end() - len('"epoch": '))
        return _counted((pair["name"], *pair.span("value")) for pair in pairs)
    if found := _INNER.search(line):
        counted = _counted(tight(line, found.end()))
        if counted is not None:
            return counted
        epoch, length = found.span("epoch"), found.span("length")
        values = tuple(tight(line, found.end()))
        return StepLine(values, found.span("step"), epoch=epoch, epoch_length=length, first_epoch=1)
    if found := _WHOLE.search(line):
        kind = found["subset"] or "train"
        places = separated(line, found.end(), "|")
        return _counted((_of_epoch(name, kind), start, end) for name, start, end in places)
    return None


def _of_epoch(name: str, kind: str) -> str:
    """The name that the JSON has for it: train_loss, valid_loss."""
    return name if name == _UPDATES or name.startswith((f"{kind}_", "valid_")) else f"{kind}_{name}"


def _counted(places: Iterator[Place]) -> StepLine | None:
    """The values against the number of updates among them."""
    values, step = [], None
    for name, start, end in places:
        if name == _UPDATES or name.endswith("_" + _UPDATES):
            step = step or (start, end)
        elif name != "update" and not _RECORDS.search(name):
            values.append((name, start, end))
    return StepLine(tuple(values), step) if step is not None and values else None
