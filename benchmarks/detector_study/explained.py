"""The page that explains tests on curves to somebody who has never met one, with figures of the records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from detector_study.curves import remembering
from stethoscope.figures.chart import Chart, Estimate, Estimates, Figure, Line

Record = Mapping[str, Any]
SEED = 13  # of the curves that are shown
POINTS = 128

PAGE = """# Tests on curves

<!-- Written by benchmarks/detector_size_and_power.py from benchmarks/recorded/; change these instead. -->

Somebody shows you a loss curve and asks: does it still fall? You look, and you answer. A program that
looks needs a rule for how much of what it sees is noise. This page is about that rule: what it promises,
why the one in the textbook breaks its promise on training curves, and what is done instead. It needs no
statistics to read.

## Two ways to be wrong

A test answers a question with *yes* or with *I cannot say*. It can say yes where nothing is there, a
false alarm, or stay silent where something is. How often it does the first on healthy data is its
**size**, and how often it finds a fault that is there is its **power**. A test promises a size, 1 %
mostly: of a hundred healthy curves it accuses one. Power is what is left to be had at that price. It
grows with the length of the curve and with the height of the fault.

A tool that asks a hundred questions of every run cannot afford a test that keeps its promise only on
paper: at 5 % each, almost every healthy run would be accused of something.

## Why the textbook test fails

Here are three curves without any trend. The noise is equally strong in all of them; it differs only in
its memory, that is, in how much of a deviation is left at the next point.

![Three curves without a trend, with more and more memory](../pictures/science/memory.svg)

The first is what textbooks mean by noise. Training curves have a memory: the weights change little from one
step to the next, and what is logged is often an average over a window. A value that is high by accident is
followed by others that are high for the same accident. An eye sees a trend in the third curve, and so does
the textbook test, which counts {points} points as {points} witnesses where there are only a few.

It can be counted. The t-test of a fitted line promises 1 %. On curves without a trend, of 256 points, it
finds one in

| memory of the noise | textbook test | trend, as used here |
|---|---|---|
{trend_rows}

The detector estimates the memory from what the line leaves over, and counts as many points as there are
independent ones. The price is power: under noise that remembers, a slope has to be larger, or the curve
longer, to be found. That is not a weakness of the detector. It is what the curve holds.

![Trend: errors on healthy data, and faults found](../pictures/detectors/trend.svg)

## The same with other questions

Memory is one reason why the obvious test fails; there are others, and each question has its own.

- **The best of many is always good.** Compare the end of a curve with its best part, and the best part
  wins in every run, because it was chosen for being best. A test has to know that it was chosen.
- **"Nothing found" is not "nothing there".** A test that finds no slope does not show that a curve is
  flat. A curve of forty noisy points has no slope that could be found, and may fall all the same.
- **A third thing drives both.** A loss that rises because its task gets harder does rise. The test is
  right, and the conclusion is wrong.
- **Tails.** A bar of four standard deviations is passed by one healthy series of 2,000 values in sixteen if
  they are normal. If they are skewed, as losses of single batches are, or have heavy tails, nearly every
  healthy series passes it.

Each pair below is the obvious test and the detector that is used in its place, on the same healthy
curves:

![How often the obvious test and the detector accuse healthy curves](../pictures/science/textbook-tests.svg)

| question | obvious test | promises | accuses | detector accuses |
|---|---|---|---|---|
{pairs}

The share is a mean over all kinds of healthy data of the study, many of them harder than most runs. What
is left of a detector's errors is on [the page of the detectors](detectors.md), kind by kind.

## What a detector's word is worth

A detector never accuses anybody. It is one voice in a rule, which asks besides for a size that matters: a
rise that is certain and small is not reported. A rule is one piece of evidence for a cause, and all
evidence from curves together is capped, so that no pile of curves outweighs a line of code ([how it
decides](../explanation/how-it-decides.md)). Whether all of it together is right is measured on runs with
known faults, and on healthy ones: [FaultBench](../benchmarks/faultbench.md).

## How it was measured

All curves are simulated: only there is it known that nothing is wrong. The shapes are flat, falling as a
power law, and falling with a schedule; the noise has more or less memory, heavy tails, a skew, or fades.
Every kind was drawn 60 to 4,000 times with a fixed seed, so the same figures come out again:

    python benchmarks/detector_size_and_power.py    # the detectors
    python benchmarks/naive_tests.py                # the obvious tests
"""


def explained(record: Record, naive: Record) -> str:
    """The page with its figures."""
    detectors = {study["detector"]: study for study in record["studies"]}
    tests = {test["detector"]: test for test in naive["tests"]}
    return PAGE.format(
        points=POINTS,
        trend_rows="\n".join(_trend_row(memory, detectors["trend"], tests["trend"]) for memory in MEMORIES),
        pairs="\n".join(_pair(tests[name], detectors[name]) for name in tests),
    )


MEMORIES = ("white", "AR(1) 0.5", "AR(1) 0.8", "AR(1) 0.9", "AR(1) 0.95")


def _trend_row(memory: str, detector: Record, test: Record) -> str:
    said = memory.replace("white", "none").removeprefix("AR(1) ")
    textbook, own = (_rate_of(one, f"flat, {memory}", 256) for one in (test, detector))
    return f"| {said} | {textbook:.1%} | {own:.1%} |"


def _pair(test: Record, detector: Record) -> str:
    promised = "nothing" if test["nominal"] is None else f"{test['nominal']:.1%}"
    return (
        f"| {detector['question']} | {test['words']} | {promised} | {mean_size(test):.1%} "
        f"| {mean_size(detector):.1%} |"
    )


def _rate_of(study: Record, label: str, count: int) -> float:
    [cell] = [
        cell
        for cell in study["cells"]
        if (cell["label"], cell["count"], cell.get("kind", "healthy")) == (label, count, "healthy")
    ]
    return float(cell["spoke"] / cell["repeats"])


def mean_size(study: Record) -> float:
    """How often a test speaks on healthy data, over all kinds of it."""
    healthy = [cell for cell in study["cells"] if cell.get("kind", "healthy") == "healthy"]
    return float(np.mean([cell["spoke"] / cell["repeats"] for cell in healthy]))


def memory_picture() -> Figure:
    """Noise with more and more memory, and the line that would be laid through it."""
    panels = []
    x = np.arange(POINTS)
    for rho, title in ((0.0, "no memory"), (0.8, "memory 0.8"), (0.95, "memory 0.95")):
        y = remembering(rho)(np.random.default_rng(SEED), 1, POINTS)[0]
        line = np.polyval(np.polyfit(x, y, 1), x)
        lines = [Line("", x, y, tone="muted"), Line("fitted line", x, line, tone="bad")]
        panels.append(Chart(title=title, x_label="point", lines=lines, y_limits=(-3.5, 3.5)))
    return Figure(title="Three curves without a trend", panels=panels, columns=3)


def textbook_picture(record: Record, naive: Record) -> Estimates:
    """The obvious test and the detector in its place, pair by pair."""
    detectors = {study["detector"]: study for study in record["studies"]}
    rows = []
    for test in naive["tests"]:
        for name, study, tone in (
            (f"{test['detector']}: obvious test", test, "bad"),
            (f"{test['detector']}: detector", detectors[test["detector"]], "good"),
        ):
            rates = [
                c["spoke"] / c["repeats"] for c in study["cells"] if c.get("kind", "healthy") == "healthy"
            ]
            low, high = (float(side) for side in np.quantile(rates, (0.1, 0.9)))
            mean = float(np.mean(rates))
            rows.append(Estimate(name, mean, min(low, mean), max(high, mean), tone, f"{mean:.1%}"))
    return Estimates(
        "Healthy curves accused",
        "share of curves: the mean over all kinds of data, and eight kinds in ten",
        rows,
        reference=0.0,
    )
