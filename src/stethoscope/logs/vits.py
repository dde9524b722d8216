"""VITS's train.log: the losses as a list without names, then the step and the learning rate.

2022-06-07 13:16:35,612	ljs_base	INFO	Train Epoch: 1 [0%]
2022-06-07 13:16:35,613	ljs_base	INFO	[6.712873, 1.742210, 136.937240, 90.1, 2.3, 110.2, 0, 0.0002]
2023-04-01 10:00:00,000	44k	INFO	Losses: [2.1, 2.5, 10.9, 21.2, 0.8], step: 200, lr: 0.0001

The script builds the list as discriminator, generator, feature matching, mel, duration and KL loss; a list
of another length comes from a changed script, and its losses are numbered.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import PLAIN_NUMBER
from stethoscope.logs._text.fields import tight
from stethoscope.logs._text.grammar import Place, StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading

FORMAT = "VITS log"

NAMES = ("loss_disc", "loss_gen", "loss_fm", "loss_mel", "loss_dur", "loss_kl")

_LIST = re.compile(
    rf"(?:^|[\s:])\[(?P<losses>(?:{PLAIN_NUMBER}, ){{2,40}})(?P<step>\d{{1,12}}), (?P<lr>\d[\d.eE+-]*)\]\s*$"
)
_SPOKEN = re.compile(
    rf"\bLosses: \[(?P<losses>{PLAIN_NUMBER}(?:, {PLAIN_NUMBER}){{1,40}})\], "
    r"step: (?P<step>\d{1,12})(?P<fields>.*)"
)


def recognise(head: Head) -> float:
    """Lists of losses that end in a step and a rate, below `Train Epoch: N [M%]`."""
    if "Train Epoch:" not in head.ends and "Losses: [" not in head.ends:
        return 0.0
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every list."""
    return TextReading(head, FORMAT, _step_line)


def _step_line(line: str) -> StepLine | None:
    if found := _LIST.search(line):
        return StepLine((*_losses(found), ("lr", *found.span("lr"))), found.span("step"))
    if found := _SPOKEN.search(line):
        return StepLine((*_losses(found), *tight(line, found.start("fields"))), found.span("step"))
    return None


def _losses(found: re.Match[str]) -> list[Place]:
    start = found.start("losses")
    numbers = [one.span() for one in re.finditer(PLAIN_NUMBER, found["losses"])]
    names = NAMES if len(numbers) == len(NAMES) else [f"loss_{nth}" for nth in range(len(numbers))]
    return [(name, start + a, start + b) for name, (a, b) in zip(names, numbers, strict=True)]
