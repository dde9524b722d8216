"""Caffe's log.

I0124 14:44:45.779839 32217 solver.cpp:237] Iteration 20, loss = 33.6845
I0124 14:44:45.779839 32217 solver.cpp:218] Iteration 100 (9.17 iter/s, 10.9s/100 iters), loss = 0.3
I0124 14:44:45.779862 32217 solver.cpp:253]     Train net output #0: loss_bbox = 33.6 (* 1 = 33.6 loss)
I0124 14:44:45.779870 32217 sgd_solver.cpp:106] Iteration 20, lr = 0.01
I0124 14:45:00.000000 32217 solver.cpp:330] Iteration 500, Testing net (#0)
I0124 14:45:09.000000 32217 solver.cpp:397]     Test net output #0: accuracy = 0.0962

A loss of 87.3365 is the logarithm of the smallest float, which Caffe takes for a probability of zero or NaN.
"""

from __future__ import annotations

import re
from dataclasses import replace

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._text.finish import Finished
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Log

FORMAT = "Caffe log"

WORST, NEAR = 87.3365, 1e-3  # -log(FLT_MIN), as printed

_PREFIX = r"^[IWE]\d{4} [\d:.]+\s+\d+ \S+:\d+\]\s+"
_ITERATION = re.compile(
    rf"{_PREFIX}Iteration (?P<step>\d{{1,12}})(?: \([^()]*\))?, (?P<name>loss|lr) = (?P<value>-?{NUMBER})"
)
_TESTING = re.compile(rf"{_PREFIX}Iteration (?P<step>\d{{1,12}}), Testing net \(#\d+\)")
_OUTPUT = re.compile(
    rf"{_PREFIX}(?P<role>Train|Test) net output #\d+: (?P<name>\S{{1,100}}) = (?P<value>-?{NUMBER})"
)


def recognise(head: Head) -> float:
    """Lines of `Iteration N, loss = x` behind glog's prefix."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> Finished:
    """Every iteration, and the outputs of the nets."""
    return Finished(TextReading(head, FORMAT, _step_line), (_with_saturation_noted,))


def _step_line(line: str) -> StepLine | None:
    if found := _ITERATION.search(line):
        return StepLine(((found["name"], *found.span("value")),), found.span("step"))
    if found := _TESTING.search(line):
        return StepLine((), found.span("step"))
    found = _OUTPUT.search(line)
    if found is None:
        return None
    role = "test" if found["role"] == "Test" else "train net"
    return StepLine(((f"{role} {found['name']}", *found.span("value")),))


def _with_saturation_noted(log: Log) -> Log:
    loss = next((series for series in log.series if series.logged_as == "loss"), None)
    at = [step for step, value in loss if abs(value - WORST) < NEAR] if loss is not None else []
    if not at:
        return log
    said = (
        f"the loss is {WORST} at {len(at)} of {len(loss or ())} points, first at step {at[0]}: "
        "the logarithm of the smallest float, which Caffe gives for NaN"
    )
    return replace(log, notes=(*log.notes, said))
