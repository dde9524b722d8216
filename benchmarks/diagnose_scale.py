"""How long a diagnosis takes after reading, against the number of points and the number of series.

    python benchmarks/diagnose_scale.py [--picture docs/pictures/diagnosis-scales.svg]

Every run is made in memory: twenty series under the names that trainers log, in healthy and sick shapes.
Each is diagnosed in a fresh process on one core, from the series to the text and JSON reports. The yardstick
beside each figure is the time that `np.sort` takes for all values of the same run. The figures are those of
the quickest of three processes; `memory` is what a process grows by while it diagnoses, in units of the
series themselves.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from stethoscope.run import Log, Run, Series, Values

POINTS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 500_000, 1_000_000)
MANY = ((20, 500_000), (500, 20_000), (5_000, 2_000), (5_000, 200), (10_000, 200), (20_000, 200))
TARGET = (500_000, 3.0)  # points in each of twenty series, and the seconds that they may take
REPEATS = 3
ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Curves = dict[str, Values]
Figures = dict[str, float]


def main() -> None:
    """Measure all shapes and sizes, print the tables, draw the picture."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--picture", type=Path, help="where to draw the figures, as SVG")
    options.add_argument("--child", nargs=3, metavar=("SHAPE", "SERIES", "POINTS"), help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        shape, series, points = chosen.child
        print(json.dumps(measured(shape, int(series), int(points))))
        return
    lines = {shape: [in_a_process(shape, 20, points) for points in POINTS] for shape in SHAPES}
    print_by_points(lines)
    print_by_series()
    if chosen.picture:
        chosen.picture.parent.mkdir(parents=True, exist_ok=True)
        chosen.picture.write_text(picture(lines), encoding="utf-8")


# ---- measuring -------------------------------------------------------------------------------------------


def in_a_process(shape: str, series: int, points: int) -> Figures:
    """The figures of the quickest of some fresh processes: what else the machine does only adds to them."""
    command = [sys.executable, __file__, "--child", shape, str(series), str(points)]
    told: list[Figures] = []
    for _ in range(REPEATS):
        done = subprocess.run(
            command, env={**os.environ, **ONE_CORE}, check=True, capture_output=True, text=True
        )
        told.append(json.loads(done.stdout))
    return min(told, key=lambda one: one["cpu"])


def measured(shape: str, series: int, points: int) -> Figures:
    """Make a run and diagnose it: seconds of wall and CPU time, of the yardstick, and memory."""
    diagnosed(run_of(SHAPES["healthy"](np.random.default_rng(1), 200)))  # imports and caches are paid for
    made = SHAPES[shape](np.random.default_rng(0), points)
    run = run_of(made if series <= len(made) else with_layers(made, series, points))
    size = sum(one.values.nbytes + one.steps.nbytes for one in run.series.values())
    peak, cpu, wall = _peak(), time.process_time(), time.perf_counter()
    diagnosed(run)
    figures = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    figures["memory"] = (_peak() - peak) / size
    cpu = time.process_time()
    for one in run.series.values():
        np.sort(one.values)
    return {**figures, "sort": time.process_time() - cpu}


def diagnosed(run: Run) -> None:
    """The line after reading, reports included, exactly as `stethoscope.diagnose` runs it."""
    from io import StringIO

    from rich.console import Console

    from stethoscope.causes import explain
    from stethoscope.causes.verdict import judge
    from stethoscope.diagnose import Diagnosis
    from stethoscope.findings import examine
    from stethoscope.prescription import prescribe
    from stethoscope.report import json_report, text_report
    from stethoscope.signals import measure
    from stethoscope.signals.ending import measure as how_it_ended

    examination = examine(measure(run))
    explanation = explain(examination)
    prescription = prescribe(explanation, examination, run)
    verdict = judge(run, explanation)
    diagnosis = Diagnosis(run, how_it_ended(run), examination, explanation, prescription, verdict)
    json_report.render(diagnosis)
    text_report.render(diagnosis, Console(file=StringIO(), width=100), verbose=True)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# ---- printing --------------------------------------------------------------------------------------------


def print_by_points(lines: dict[str, list[Figures]]) -> None:
    """CPU seconds for twenty series, and what 20 x 500,000 points cost in full."""
    print("CPU seconds for 20 series, by points in each\n")
    print(f"| shape | {' | '.join(f'{points:,}' for points in POINTS)} |\n|---|{'---|' * len(POINTS)}")
    for shape, line in lines.items():
        print(f"| {shape} | {' | '.join(format(one['cpu'], '.3f') for one in line)} |")
    print(f"\n20 series x {TARGET[0]:,} points\n")
    print("| shape | wall s | CPU s | times np.sort | memory | growth |\n|---|---|---|---|---|---|")
    for shape, line in lines.items():
        one = line[POINTS.index(TARGET[0])]
        print(
            f"| {shape} | {one['wall']:.2f} | {one['cpu']:.2f} | {one['cpu'] / one['sort']:.1f} "
            f"| {one['memory']:.2f} | {growth(line):.2f} |"
        )


def growth(line: list[Figures]) -> float:
    """The power of the number of points with which the time grows, from 100,000 on; 1 is linear."""
    late = [(math.log(p), math.log(one["cpu"])) for p, one in zip(POINTS, line, strict=True) if p >= 100_000]
    slope, _ = np.polyfit(*zip(*late, strict=True), 1)
    return float(slope)


def print_by_series() -> None:
    """Few long series and many short ones."""
    print("\n| series x points | wall s | CPU s | us per point | memory |\n|---|---|---|---|---|")
    for series, points in MANY:
        one = in_a_process("healthy", series, points)
        each = 1e6 * one["cpu"] / (series * points)
        print(
            f"| {series:,} x {points:,} | {one['wall']:.2f} | {one['cpu']:.2f} | {each:.3f} "
            f"| {one['memory']:.2f} |"
        )


# ---- runs ------------------------------------------------------------------------------------------------


def run_of(curves: Curves) -> Run:
    """A run of one log with these curves."""
    series = {
        name: Series(name, name, np.arange(len(values), dtype=np.int64), values, "train.csv")
        for name, values in curves.items()
    }
    return Run(
        "runs/long", "long", logs=(Log("train.csv", "CSV table", tuple(series.values())),), series=series
    )


def with_layers(curves: Curves, series: int, points: int) -> Curves:
    """The curves, and those of as many layers as are asked for, as a tag per layer gives them."""
    rng = np.random.default_rng(2)
    kinds = ("grad_norm/layers.{}", "param_norm/layers.{}", "act/layers.{}/std", "val/task{}_accuracy")
    kinds += ("loss/head{}", "lr/group{}")
    curves = dict(curves)
    for number in range(series - len(curves)):
        name = kinds[number % len(kinds)].format(number)
        curves[name] = curves["lr"] if name.startswith("lr/") else 0.5 + 0.01 * rng.standard_normal(points)
    return curves


def healthy(rng: np.random.Generator, points: int) -> Curves:
    """Twenty series of a run in which nothing is wrong."""
    t = np.linspace(0.0, 1.0, points)
    fall = (1.0 + 500.0 * t) ** -0.5
    loss = (2.0 + 9.0 * fall) * np.exp(0.05 * rng.standard_normal(points))
    rate = 0.5 * (1.0 + np.cos(np.pi * t))
    return {
        "loss": loss,
        "loss/l1": 0.6 * loss,
        "loss/ssim": 0.1 * loss * np.exp(0.02 * rng.standard_normal(points)),
        "loss/kl": 0.3 * loss,
        "grad_norm": np.exp(0.3 * rng.standard_normal(points)),
        "lr": 1e-3 * rate + 1e-6,
        "lr/encoder": 2e-4 * rate + 1e-7,
        "loss_scale": 2.0 ** (16 + (np.arange(points) // 2000) % 3),
        "val/psnr": 30.0 + 3.0 * (1.0 - fall) + 0.1 * rng.standard_normal(points),
        "val/ssim": 0.8 + 0.1 * (1.0 - fall) + 0.003 * rng.standard_normal(points),
        "val/loss": 2.0 + 9.0 * fall + 0.05 * rng.standard_normal(points),
        "val/accuracy": np.clip(0.9 - 0.5 * fall + 0.01 * rng.standard_normal(points), 0.0, 1.0),
        "weight/l1": np.ones(points),
        "weight/ssim": 1.0 + 0.001 * rng.standard_normal(points),
        "step_time": 0.1 * np.exp(0.1 * rng.standard_normal(points)),
        "throughput": 10.0 * np.exp(0.1 * rng.standard_normal(points)),
        "mem": np.full(points, 1.7),
        "epoch": np.floor(np.arange(points) / 5000),
        "something/else": rng.standard_normal(points),
        "difficulty": np.clip(2.0 * t, 0.0, 1.0),
    }


def nan_for_good(rng: np.random.Generator, points: int) -> Curves:
    """One NaN along the way, then NaN in loss and gradients to the end."""
    curves = healthy(rng, points)
    for name in ("loss", "loss/ssim", "grad_norm"):
        curves[name][7 * points // 10] = np.nan
        curves[name][9 * points // 10 :] = np.nan
    return curves


def holes_everywhere(rng: np.random.Generator, points: int) -> Curves:
    """A table in which every other row has no value, in every column."""
    curves = healthy(rng, points)
    for values in curves.values():
        values[::2] = np.nan
    return curves


def spikes(rng: np.random.Generator, points: int) -> Curves:
    """One loss in 500 is five times too high."""
    curves = healthy(rng, points)
    curves["loss"][rng.choice(points, points // 500, replace=False)] *= 5.0
    return curves


def divergence(rng: np.random.Generator, points: int) -> Curves:
    """The loss climbs in the second half, beside a difficulty that swings."""
    curves = healthy(rng, points)
    half = points - points // 2
    curves["loss"][points // 2 :] += np.minimum(20.0, 0.05 * np.exp(np.linspace(0.0, 30.0, half)))
    curves["difficulty"] = np.sin(np.linspace(0.0, 20.0, points))
    return curves


def decline(rng: np.random.Generator, points: int) -> Curves:
    """Every score peaks in the middle, the accuracy is counted, the validation loss turns."""
    curves = healthy(rng, points)
    late = np.clip(np.linspace(-1.0, 1.0, points), 0.0, 1.0)
    for name in ("val/psnr", "val/ssim", "val/accuracy", "loss/ssim"):
        curves[name] = curves[name] * (1.0 - 0.2 * late)
    curves["val/loss"] = curves["val/loss"] * (1.0 + 0.5 * late)
    return curves


def wild_rates(rng: np.random.Generator, points: int) -> Curves:
    """Two groups' rates under one name, weights that jump at every step, and a scaler that never rests."""
    curves = healthy(rng, points)
    curves["lr"][::2] *= 0.1
    for name in ("weight/l1", "weight/ssim"):
        curves[name] = np.exp(rng.standard_normal(points))
    curves["loss_scale"] = 2.0 ** rng.integers(8, 24, points)
    curves["loss"][points // 2 :] *= 3.0
    return curves


def scaler_collapse(rng: np.random.Generator, points: int) -> Curves:
    """Overflows in the forward pass halve the scale a hundred times, and gradients are infinite there."""
    curves = healthy(rng, points)
    octave = 17 - np.minimum(np.cumsum(rng.random(points) < 200.0 / points), 140)
    curves["loss_scale"] = 2.0**octave
    curves["grad_norm"][1:][np.diff(octave) < 0] = np.inf
    return curves


SHAPES: dict[str, Callable[[np.random.Generator, int], Curves]] = {
    "healthy": healthy,
    "NaN for good": nan_for_good,
    "holes everywhere": holes_everywhere,
    "a spike in 500": spikes,
    "divergence": divergence,
    "scores decline": decline,
    "rates leap at every step": wild_rates,
    "loss scale collapses": scaler_collapse,
}


# ---- the picture -----------------------------------------------------------------------------------------

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 64, 210, 40, 52
COLOURS = ("#1b6ca8", "#c0392b", "#7f8c8d", "#d68910", "#8e44ad", "#16a085", "#b03a76", "#5d6d1e")
LEAST_SECONDS, MOST_SECONDS = 1e-3, 1e1


def picture(lines: dict[str, list[Figures]]) -> str:
    """The CPU seconds over the points, both logarithmic, as SVG."""
    drawn = [*_frame(), *_linear()]
    sorting = [one["sort"] for one in lines["healthy"]]
    drawn += [_curve(sorting, "#222222", "4 4"), *_label(0, "np.sort of the same values", "#222222", "4 4")]
    for number, (shape, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        drawn += [_curve([one["cpu"] for one in line], colour), *_label(number + 1, shape, colour)]
    body = "\n".join(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
        f"{body}\n</svg>\n"
    )


def _x(points: float) -> float:
    share = math.log(points / POINTS[0]) / math.log(POINTS[-1] / POINTS[0])
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(seconds: float) -> float:
    share = math.log(seconds / LEAST_SECONDS) / math.log(MOST_SECONDS / LEAST_SECONDS)
    return HEIGHT - BOTTOM - min(max(share, 0.0), 1.0) * (HEIGHT - TOP - BOTTOM)


def _frame() -> Iterator[str]:
    """The grid, the axes and the target."""
    yield _text(LEFT, 22, "CPU seconds of a diagnosis after reading, 20 series, one core", size=14)
    for power in range(round(math.log10(LEAST_SECONDS)), round(math.log10(MOST_SECONDS)) + 1):
        y = _y(10.0**power)
        yield _rule(LEFT, y, WIDTH - RIGHT, y, "#dddddd")
        yield _text(LEFT - 8, y + 4, f"{10.0**power:g} s", anchor="end")
    for points in (1_000, 10_000, 100_000, 1_000_000):
        yield _rule(_x(points), TOP, _x(points), HEIGHT - BOTTOM, "#dddddd")
        yield _text(_x(points), HEIGHT - BOTTOM + 18, f"{points:,}", anchor="middle")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "points in each series", anchor="middle")
    points, seconds = TARGET
    yield f'<circle cx="{_x(points):.1f}" cy="{_y(seconds):.1f}" r="5" fill="none" stroke="#222222"/>'
    yield _text(_x(points) - 10, _y(seconds) + 4, f"goal: {seconds:g} s at {points:,}", anchor="end")


def _linear() -> Iterator[str]:
    """A line of slope one: ten times the points, ten times the seconds."""
    first, last = 30_000, 1_000_000
    yield _rule(_x(first), _y(0.1 * first / 1e5), _x(last), _y(0.1 * last / 1e5), "#999999", "1 3")
    yield _text(_x(first) - 6, _y(0.1 * first / 1e5) + 4, "slope 1", anchor="end", colour="#777777")


def _curve(seconds: list[float], colour: str, dashes: str = "") -> str:
    at = " ".join(f"{_x(p):.1f},{_y(s):.1f}" for p, s in zip(POINTS, seconds, strict=True))
    return f'<polyline points="{at}" fill="none" stroke="{colour}" stroke-width="1.8"{_dashed(dashes)}/>'


def _label(row: int, name: str, colour: str, dashes: str = "") -> Iterator[str]:
    x, y = WIDTH - RIGHT + 16, TOP + 12 + 20 * row
    yield _rule(x, y - 4, x + 22, y - 4, colour, dashes, 2)
    yield _text(x + 28, y, name)


def _rule(a: float, b: float, c: float, d: float, colour: str, dashes: str = "", width: float = 1) -> str:
    ends = f'x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width:g}"{_dashed(dashes)}/>'


def _dashed(dashes: str) -> str:
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _text(
    x: float, y: float, words: str, anchor: str = "start", size: int = 12, colour: str = "#222222"
) -> str:
    style = f'text-anchor="{anchor}" font-size="{size}" fill="{colour}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{words}</text>'


if __name__ == "__main__":
    main()
