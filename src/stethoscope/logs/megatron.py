"""Megatron-LM, Megatron-DeepSpeed, GPT-NeoX and nanotron.

 iteration       10/    1000 | consumed samples:  160 | elapsed time per iteration (ms): 312.5 | learning \
rate: 1.5E-05 | global batch size: 16 | lm loss: 1.052E+01 | loss scale: 65536.0 | grad norm: 6.593 | \
number of skipped iterations:   1 | number of nan iterations:   0 |
 samples/sec: 855.999 | iteration  5/  2048 | ... | approx flops per GPU: 3.4TFLOPS | lm_loss: 1.079130E+01 |
 iteration: 1 / 15 | consumed_tokens: 4.1K | lm_loss: 5.32 | lr: 0.00015 | grad_norm: 2.96 |
 validation loss at iteration 1000 | lm loss value: 2.304108E+00 | lm loss PPL: 1.001527E+01 |
 validation results at the end of training for test data | lm_loss value: 2.3E+00 |

Launchers put a rank or a time before the lines. Losses are means over the iterations since the line before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._text.finish import Finished, without_placeholders
from stethoscope.logs._text.grammar import Place, StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation

FORMAT = "Megatron log"

_ITERATION = re.compile(r"\biteration:?\s+(?P<step>\d{1,12}) ?/\s*(?P<total>\d{1,12}) \|")
_VALIDATION = re.compile(
    r"\b(?P<set>validation|test) (?:loss|results) at (?:iteration\s+(?P<step>\d{1,12})|the end of training)"
    r"(?P<which>[^|]{0,60})\|"
)
_FIELD = re.compile(
    rf"\s*(?P<name>[A-Za-z][\w./ -]{{0,60}}?(?: \([\w/]{{1,20}}\))?)\s*:\s*(?P<value>{NUMBER})"
    r"(?:\s*(?P<unit>[A-Za-z/%]{1,12}))?\s*"
)
_SPOKEN = {
    "elapsed time per iteration (ms)": "time per iteration",
    "elapsed time per iteration (s)": "time per iteration",
    "number of skipped iterations": "skipped iterations",
    "throughput per GPU (TFLOP/s/GPU)": "throughput (TFLOP/s/GPU)",
    "throughput (token/sec/GPU)": "throughput (token/sec)",
    "approx flops per GPU": "flops per GPU",
}
_SPEED = re.compile(rf"\bsamples/sec: (?P<speed>{NUMBER}) \| iteration ")
_VALUE = re.compile(r"[ _]value$")
_ROUNDED = frozenset("KMBGT")  # nanotron's counts: 1.05M tokens, 452K a second
_PERPLEXITY = re.compile(r"lm[ _]loss[ _](?:PPL|ppl)")


def recognise(head: Head) -> float:
    """Lines of `iteration N/M |` and values between bars."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> Finished:
    """Every iteration and validation line."""
    return Finished(TextReading(head, FORMAT, _step_line, Aggregation.WINDOW_MEAN), (without_placeholders,))


def _step_line(line: str) -> StepLine | None:
    if found := _ITERATION.search(line):
        speed = [("samples/sec", *before.span("speed"))] if (before := _SPEED.search(line)) else []
        values = ((_SPOKEN.get(name, name), start, end) for name, start, end in _fields(line, found.end()))
        return StepLine((*speed, *values), found.span("step"), found.span("total"))
    if found := _VALIDATION.search(line):
        held_out = "test" if "test" in found["set"] + found["which"] else "val"
        values = (
            (f"{held_out}/{_PERPLEXITY.sub('ppl', _VALUE.sub('', name))}", start, end)
            for name, start, end in _fields(line, found.end())
        )
        return StepLine(tuple(values), found.span("step") if found["step"] else None)
    return None


def _fields(line: str, start: int) -> Iterator[Place]:
    """One value between bars."""
    while start < len(line):
        end = line.find("|", start)
        end = len(line) if end < 0 else end
        found = _FIELD.fullmatch(line, start, end)
        if found and found["unit"] not in _ROUNDED:
            yield (found["name"], *found.span("value"))
        start = end + 1
