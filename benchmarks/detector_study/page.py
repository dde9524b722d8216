"""The page about the detectors, from the record of the study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from detector_study.explained import mean_size
from detector_study.in_words import IN_WORDS

MANY = 12  # rows of healthy data, above which only the worst are shown
SHOWN = 8

HEAD = """# What the detectors get wrong

<!-- Written by benchmarks/detector_size_and_power.py from benchmarks/recorded/; change these instead. -->

A detector is a pure function on a curve (`src/stethoscope/detectors/`). Here is how often each of them speaks
on healthy data, its *size*, and how often it finds what it is meant for, its *power*. All of it is simulated:
the shapes and the noise are ours, so what is measured is whether a detector does what it claims, not how
often real runs look like this. On real runs, see `benchmarks/false_alarms.py` and the tests on the corpus.

    python benchmarks/detector_size_and_power.py            every figure below, {seconds} s of one core
    python benchmarks/detector_size_and_power.py --quick    a twentieth of the draws

Each picture has healthy data on the left: how often the detector speaks, over the memory of the noise, and
dashed in red what a textbook test of the same question does on the same curves (`benchmarks/naive_tests.py`).
On the right are the faults, and how many of them are found. [Tests on curves](tests-on-curves.md) explains
the words.

Noise is white, AR(1) with a memory of 0.5 to 0.95, Student's t with three degrees of freedom, log-normal, or
fading to a fifth. A number behind it is its deviation relative to the level of a loss; without one it is 1,
and shapes are in units of it. `n` is the number of points. Cells have 60 to 4,000 draws: of 300, a share of
1 % is known to within about one per cent.

What is left above its nominal level is noise that remembers for as long as the curve is: sixteen values of
AR(0.95) noise *are* a trend, as far as they show. The rules ask for more than a detector: a size that
matters, a second signal, a comparison.

Python {python}, numpy {numpy}.

## All of them

| detector | it asks | nominal | healthy: mean | worst | where | textbook test: mean |
|---|---|---|---|---|---|---|
"""

CHANGED = """
## What the study changed

Measured with the same cells, before and after.

| detector | change | cells | before | after | what it cost |
|---|---|---|---|---|---|
"""


def page(record: Mapping[str, Any], naive: Mapping[str, Any]) -> str:
    """The whole page; `naive` is the record of the textbook tests."""
    head = HEAD.format(seconds=record["cpu_seconds"], python=record["python"], numpy=record["numpy"])
    tests = {test["detector"]: f"{mean_size(test):.1%}" for test in naive["tests"]}
    rows = "\n".join(_summary(study, tests.get(study["detector"], "")) for study in record["studies"])
    changed = _changed(record.get("changed", []))
    return head + rows + "\n" + changed + "\n" + "\n".join(_section(study) for study in record["studies"])


def _summary(study: Mapping[str, Any], textbook: str) -> str:
    healthy = [cell for cell in study["cells"] if cell["kind"] == "healthy"]
    worst = max(healthy, key=_rate)
    mean = sum(map(_rate, healthy)) / len(healthy)
    where = f"{worst['label']}, n = {worst['count']}" if _rate(worst) else ""
    return (
        f"| {study['detector']} | {study['question']} | {_nominal(study)} | {mean:.2%} | {_rate(worst):.1%} "
        f"| {where} | {textbook} |"
    )


def _nominal(study: Mapping[str, Any]) -> str:
    return "" if study["nominal"] is None else f"{study['nominal']:.1%}"


def _changed(rows: Iterable[Mapping[str, str]]) -> str:
    keys = ("detector", "change", "cells", "before", "after", "cost")
    lines = ["| " + " | ".join(row[key] for key in keys) + " |" for row in rows]
    return CHANGED + "\n".join(lines) + "\n" if lines else ""


def _section(study: Mapping[str, Any]) -> str:
    healthy, faults = (_rows(study["cells"], kind) for kind in ("healthy", "fault"))
    name = study["detector"]
    parts = [
        f"## {name.capitalize()}\n",
        f"{study['question'].capitalize()}?\n",
        f"{IN_WORDS[name]}\n",
        f"![{name.capitalize()}: size and power](../pictures/detectors/{slug(name)}.svg)\n",
    ]
    shown = dict(sorted(healthy.items(), key=lambda row: -max(row[1].values()))[:SHOWN])
    if len(healthy) > MANY:
        rest = [rate for label, row in healthy.items() if label not in shown for rate in row.values()]
        parts.append(_table("healthy, the worst", shown))
        parts.append(f"The other {len(healthy) - len(shown)} kinds: at most {max(rest):.1%}.\n")
    else:
        parts.append(_table("healthy", healthy))
    if faults:
        parts.append(_table("fault", faults))
    return "\n".join(parts)


def slug(detector: str) -> str:
    """The name of a detector in the name of a file."""
    return detector.replace(" ", "-")


def _rows(cells: Iterable[Mapping[str, Any]], kind: str) -> dict[str, dict[int, float]]:
    rows: dict[str, dict[int, float]] = {}
    for cell in cells:
        if cell["kind"] == kind:
            rows.setdefault(cell["label"], {})[cell["count"]] = _rate(cell)
    return rows


def _table(name: str, rows: Mapping[str, Mapping[int, float]]) -> str:
    counts = sorted(set(chain.from_iterable(rows.values())))
    lines = [
        f"| {name} | " + " | ".join(f"n = {count:,}" for count in counts) + " |",
        "|---" * (len(counts) + 1) + "|",
    ]
    lines += [
        f"| {label} | " + " | ".join(_cell(row, count) for count in counts) + " |"
        for label, row in rows.items()
    ]
    return "\n".join(lines) + "\n"


def _cell(row: Mapping[int, float], count: int) -> str:
    return f"{row[count]:.1%}" if count in row else ""


def _rate(cell: Mapping[str, Any]) -> float:
    return float(cell["spoke"]) / float(cell["repeats"])
