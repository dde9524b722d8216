"""How far forecasts and bands can be trusted: their coverage, refusals, and the false alarms of `check`.

    python benchmarks/trajectory_coverage.py --quick          a tenth of the draws, printed only
    python benchmarks/trajectory_coverage.py                  all of them, kept in benchmarks/recorded/
    python benchmarks/trajectory_coverage.py --checks         the simulated checks alone, kept as well
    python benchmarks/trajectory_coverage.py --train FOLDER   trains healthy runs that differ by their seed
    python benchmarks/trajectory_coverage.py --seeds FOLDER   holds those to one another, kept as well
    python benchmarks/trajectory_coverage.py --logs FOLDER    healthy public logs held to their own first half
    python benchmarks/trajectory_coverage.py --page           docs/science/trajectory.md from the record

Curves are drawn with a seed of their own, so that the same figures come out again. What is trained are
trainings of FaultBench that are not held out.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from trajectory_pictures import picture

from stethoscope.detectors.distributions import clopper_pearson, t_quantile
from stethoscope.errors import StethoscopeError
from stethoscope.figures import svg
from stethoscope.read import read
from stethoscope.run import Run, Series
from stethoscope.trajectory import Basis, hold, plan
from stethoscope.trajectory.forecast.prediction import forecast

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "benchmarks" / "recorded" / "trajectory_coverage.json"
PAGE = ROOT / "docs" / "science" / "trajectory.md"
PICTURE = ROOT / "docs" / "pictures" / "science" / "trajectory.svg"
QUICK = 0.1
CURVES = 60  # of each kind
FAMILIES = 200  # simulated recipes, each trained with several seeds
KNOWN = 400  # points that are fitted
HORIZONS = (1.25, 1.5, 2.0)  # times as far as the curve is known
TASKS = ("deblur", "gansr", "gratings", "masked", "sharpen", "springs")
SEEDS = range(102, 122, 2)

Rng = np.random.Generator
Values = np.ndarray


def main() -> None:
    """Measure what is asked for."""
    asked = _arguments()
    if asked.train:
        train(Path(asked.train))
        return
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    if asked.seeds:
        record["seeds"] = [one.__dict__ for one in of_seeds(Path(asked.seeds))]
    elif asked.logs:
        record["logs"] = [one.__dict__ for one in of_logs(Path(asked.logs))]
    elif not asked.page:
        share = QUICK if asked.quick else 1.0
        began = time.process_time()
        if not asked.checks:
            record["forecasts"] = [row for kind in KINDS for row in of_forecasts(kind, int(CURVES * share))]
        record["checks"] = [of_checks(seeds, int(FAMILIES * share)) for seeds in (1, 2, 4)]
        record |= {"python": platform.python_version(), "numpy": np.__version__}
        if not asked.checks:
            record["cpu_seconds"] = round(time.process_time() - began)
    if asked.quick:
        print(json.dumps(record, indent=1))
        return
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(svg.render(picture(record)), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--checks", action="store_true")
    parser.add_argument("--train", metavar="FOLDER")
    parser.add_argument("--seeds", metavar="FOLDER")
    parser.add_argument("--logs", metavar="FOLDER")
    return parser.parse_args()


# --- forecasts of one curve


@dataclass(frozen=True)
class Kind:
    """A kind of curve: its level at some shares of the known length, its noise, and its schedule if known."""

    name: str
    level: Callable[[Values, Rng], Values]
    noise: Callable[[int, Rng], Values]
    relative: bool = True
    rates: Callable[[Values], Values] | None = None


def iid(size: float) -> Callable[[int, Rng], Values]:
    """Independent noise."""
    return lambda count, rng: size * rng.standard_normal(count)


def remembered(size: float, rho: float) -> Callable[[int, Rng], Values]:
    """Noise that remembers itself from point to point."""

    def draw(count: int, rng: Rng) -> Values:
        made, now = np.empty(count), float(rng.standard_normal())
        for at in range(count):
            now = rho * now + np.sqrt(1 - rho * rho) * rng.standard_normal()
            made[at] = now
        return size * made

    return draw


def power(x: Values, rng: Rng) -> Values:
    """A floor, and a power law above it."""
    exponent, floor = rng.uniform(0.15, 0.9), rng.uniform(0.1, 1.0)
    return floor + rng.uniform(0.3, 2.0) * (x + rng.uniform(0.005, 0.1)) ** -exponent


def broken(x: Values, rng: Rng) -> Values:
    """A power law whose exponent changes somewhere, often behind what is known."""
    first, turn = rng.uniform(0.2, 0.6), rng.uniform(0.1, 2.0)
    second = first * rng.uniform(0.3, 1.8)
    return (x + 0.01) ** -first * (1 + x / turn) ** (first - second)


def decaying(x: Values, rng: Rng) -> Values:
    """A floor, and an exponential above it."""
    return rng.uniform(0.1, 1.0) + rng.uniform(0.5, 3.0) * np.exp(-x / rng.uniform(0.1, 0.8))


def stepping_down(x: Values, rng: Rng) -> Values:
    """A plateau that is left behind what is known: nothing tells beforehand."""
    return 0.3 + 1.0 / (1 + np.exp((x - rng.uniform(1.1, 1.6)) / 0.04)) + 0.5 * (x + 0.02) ** -0.3


def score(x: Values, rng: Rng) -> Values:
    """An accuracy that comes closer to what it can reach."""
    return rng.uniform(0.7, 0.98) - rng.uniform(0.05, 0.25) * (x + rng.uniform(0.02, 0.1)) ** -rng.uniform(
        0.3, 0.9
    )


def cosine(x: Values) -> Values:
    """A rate that warms up and comes down to zero at twice the known length."""
    rising = np.minimum(x / 0.04, 1.0)
    return rising * 0.5 * (1 + np.cos(np.pi * np.clip(x / 2.0, 0, 1))) + 1e-6


def annealed(x: Values, rng: Rng) -> Values:
    """A loss that falls with the summed rate, and further where the rate comes down."""
    grid = np.linspace(0, 2.0, 4001)
    rate = cosine(grid)
    spent = np.concatenate([[0], np.cumsum(rate[1:]) * 5e-4])
    fallen = np.maximum(1.0 - rate, 0) * (grid > 0.04)
    lag = np.convolve(fallen, np.exp(-np.arange(400) / 100), mode="full")[: len(grid)] / 100
    made = rng.uniform(0.8, 1.5) + (spent + 0.03) ** -rng.uniform(0.3, 0.7) - rng.uniform(0.05, 0.25) * lag
    return np.interp(x, grid, made)


KINDS = (
    Kind("power law, independent noise", power, iid(0.05)),
    Kind("power law, noise that remembers (0.9)", power, remembered(0.05, 0.9)),
    Kind("power law, much noise", power, iid(0.3)),
    Kind("power law that breaks", broken, remembered(0.05, 0.5)),
    Kind("exponential", decaying, remembered(0.05, 0.5)),
    Kind("cosine schedule, known", annealed, remembered(0.03, 0.5), rates=cosine),
    Kind("cosine schedule, unknown", annealed, remembered(0.03, 0.5)),
    Kind("plateau left later", stepping_down, iid(0.05)),
    Kind("accuracy", score, iid(0.01), relative=False),
)


def of_forecasts(kind: Kind, draws: int) -> Iterator[dict[str, object]]:
    """Coverage of the 99 % band at each horizon, refusals, and how wide the band is."""
    inside, worse, width = (np.zeros(len(HORIZONS)) for _ in range(3))
    made = 0
    for draw in range(draws):
        rng = np.random.default_rng([zlib.crc32(kind.name.encode()), draw])
        x = np.arange(1, KNOWN + 1) / KNOWN
        places = np.concatenate([x, HORIZONS])
        level = kind.level(places, rng)
        noise = kind.noise(KNOWN, rng)
        values = level[:KNOWN] * np.exp(noise) if kind.relative else level[:KNOWN] + noise
        steps = (x * 10_000).astype(np.int64)
        ahead = np.array(HORIZONS) * 10_000
        schedule = None
        if kind.rates is not None:
            grid = np.arange(0, 20_001, 10)
            schedule = (grid, kind.rates(grid / 10_000))
        told = forecast(steps, values, ahead, kind.relative, schedule, seed=draw)
        if isinstance(told, str):
            continue
        made += 1
        truth = np.log(level[KNOWN:]) if kind.relative else level[KNOWN:]
        reach = t_quantile(0.995, told.freedom)
        off = (truth - told.level) / told.error
        inside += np.abs(off) <= reach
        worse += (off if kind.relative else -off) > reach
        width += reach * told.error
    for at, horizon in enumerate(HORIZONS):
        count = max(made, 1)
        yield {
            "kind": kind.name,
            "horizon": horizon,
            "draws": draws,
            "forecast": made,
            "covered": round(float(inside[at]) / count, 4),
            "worse": round(float(worse[at]) / count, 4),
            "half_width": round(float(width[at]) / count, 4),
            "unit": "log" if kind.relative else "value",
        }


# --- false alarms of the whole check, simulated


def of_checks(seeds: int, draws: int) -> dict[str, object]:
    """How often a healthy run of a recipe leaves a file made from others of its seeds; and a sick one."""
    alarms = found = 0
    for draw in range(draws):
        rng = np.random.default_rng([seeds, draw])
        recipe = _recipe(rng)
        runs = [_simulated(recipe, rng) for _ in range(seeds + 1)]
        trajectory = plan(Basis(runs[0], runs[:seeds]))
        alarms += hold(runs[-1], trajectory).departed
        found += hold(_simulated(recipe, rng, sick=True), trajectory).departed
    low, high = clopper_pearson(alarms, draws)
    return {
        "seeds": seeds,
        "draws": draws,
        "alarms": alarms,
        "interval": [round(low, 5), round(high, 5)],
        "doubled": round(found / draws, 4),
    }


def _recipe(rng: Rng) -> dict[str, float]:
    """What the seeds of a recipe share: the curve, its noise, and how far seeds lie apart."""
    return {
        "exponent": rng.uniform(0.2, 0.9),
        "floor": rng.uniform(0.05, 0.6),
        "noise": float(np.exp(rng.uniform(np.log(0.01), np.log(0.4)))),
        "rho": rng.choice([0.0, 0.5, 0.9]),
        "spread": float(np.exp(rng.normal(np.log(0.05), 0.6))),  # as measured between seeds
        "late": rng.uniform(0.0, 0.12),
        "cadence": int(rng.choice([1, 5, 20])),
        "shape": int(rng.integers(1 << 31)),
    }


def _simulated(recipe: dict[str, float], rng: Rng, sick: bool = False) -> Run:
    """A run of a recipe: a loss, a validation loss and an accuracy, and the norm of its gradient.

    The loss of a sick one is twice as high from a third of the run on, and its accuracy half.
    """
    steps = np.arange(recipe["cadence"], 2001, recipe["cadence"]).astype(np.int64)
    evaluations = np.arange(100, 2001, 100).astype(np.int64)
    apart, wander = recipe["spread"] * rng.standard_normal(), recipe["spread"] * rng.standard_normal(3)
    late = np.exp(recipe["late"] * rng.standard_normal())

    def level(at: Values) -> Values:
        x = at / 2000 * late
        strays = apart + wander @ np.stack([np.cos(np.pi * (k + 1) * at / 2000) for k in range(3)]) / 2
        made = np.log(recipe["floor"] + 0.3 * (x + 0.01) ** -recipe["exponent"]) + strays
        return made + np.log(2.0) * (at > 700) if sick else made

    noise = remembered(recipe["noise"], recipe["rho"])
    loss = np.exp(level(steps) + noise(len(steps), rng))
    val_loss = np.exp(level(evaluations) + 0.02 * rng.standard_normal(len(evaluations)))
    right = 1.0 / (1.0 + val_loss)
    accuracy = np.round(np.clip(right + 0.01 * rng.standard_normal(len(right)), 0, 1) * 1000) / 1000
    norm = (
        np.exp(0.3 * rng.standard_normal() + 0.3 * rng.standard_normal(len(steps))) * (steps + 10.0) ** -0.1
    )
    series = {
        "loss": Series("loss", "loss", steps, loss),
        "val/loss": Series("val/loss", "val/loss", evaluations, val_loss),
        "val/accuracy": Series("val/accuracy", "val/accuracy", evaluations, accuracy),
        "grad_norm": Series("grad_norm", "grad_norm", steps, norm),
    }
    return Run("simulated", "simulated", series=series)


# --- healthy runs that differ by their seed alone


def train(folder: Path) -> None:
    """Train every task with several seeds: the same settings, the same data."""
    from importlib import import_module

    from stethoscope.clinic.faultbench import making, specimen

    drawn, write_data = specimen._drawn, specimen._write_data
    making._judged = lambda label, task, home: label
    for seed in SEEDS:
        for name in TASKS:
            task = import_module(f"stethoscope.clinic.faultbench.tasks.{name}.task").TASK
            same = [zlib.crc32(name.encode()), 2]
            specimen._drawn = lambda n, c, f, _, same=same: drawn(n, c, f, np.random.default_rng(same))
            specimen._write_data = lambda s, p, _, same=same: write_data(s, p, np.random.default_rng(same))
            making.make(specimen.Specimen(task, (), seed), folder)
            print(name, seed, flush=True)


@dataclass(frozen=True)
class OfSeeds:
    """Healthy runs of one task held to files that others of its seeds made."""

    task: str
    runs: int
    references: int
    checks: int
    alarms: int


def of_seeds(folder: Path) -> Iterator[OfSeeds]:
    """Every run held to every other one, and to three others together."""
    for task in TASKS:
        runs = [read(path) for path in sorted(folder.glob(f"{task}--healthy--*"))]
        for references in (1, 3):
            checks = alarms = 0
            for at in range(len(runs)):
                chosen = [runs[(at + by) % len(runs)] for by in range(references)]
                trajectory = plan(Basis(chosen[0], chosen))
                others = [run for run in runs if run not in chosen]
                checks += len(others)
                alarms += sum(hold(run, trajectory).departed for run in others)
            yield OfSeeds(task, len(runs), references, checks, alarms)


# --- healthy logs of strangers, held to their own first half


@dataclass(frozen=True)
class OfLog:
    """One log: which signals were held to a band or a forecast behind its middle, and which left it."""

    log: str
    forecast: list[str]
    refused: list[str]
    left: list[str]


def of_logs(folder: Path) -> Iterator[OfLog]:
    """Every log that MANIFEST.tsv calls healthy, as if the run had only been known up to its middle."""
    with (folder / "MANIFEST.tsv").open(encoding="utf-8") as listed:
        rows = [row for row in csv.DictReader(listed, delimiter="\t") if row["label"] == "healthy"]
    for row in rows:
        try:
            run = read(folder / row["path"])
        except StethoscopeError:
            continue
        if run.steps is None or run.steps[1] - run.steps[0] < 20:
            continue
        trajectory = plan(Basis(run, until=sum(run.steps) // 2))
        judged = hold(run, trajectory)
        told = [one for one in trajectory.signals if not one.exact and one.name != "grad_norm"]
        left = [one.held.name for one in judged.left] + [
            f"{one.sign.signal} {one.sign.when}" for one in judged.warned
        ]
        known = [one.name for one in told if "forecast by" in one.source]
        yield OfLog(row["path"], known, [one.name for one in told if one.name not in known], left)


# --- the page

FORECASTS = """# How far a trajectory can be trusted

<!-- Written by benchmarks/trajectory_coverage.py from benchmarks/recorded/; change these instead. -->

A file of `stethoscope trajectory` says between which values a healthy run stays. Where healthy runs are
at hand, the band is what they show. Where there is only the healthy beginning of a run, it is a forecast,
and this page says what that is worth. A forecast can fail in two ways: the run leaves the band although
nothing is wrong with it, or the band is so wide that nothing ever leaves it. The picture has both: how
fast bands widen with the distance, and how often a check accuses a healthy run and finds a sick one.

![How wide bands are, and what checks find](../pictures/science/trajectory.svg)

The obvious way, a curve fitted to the points with the interval that the fit gives, fails for the reason
that [tests on curves](tests-on-curves.md) has: the points are no independent witnesses; and no family of
curves is the right one. So a fit must first predict the next quarter from the half before it, the noise
is drawn again in blocks that keep its memory, and the band grows with the distance by what curves were
seen to leave their family.

## Forecasts

400 points of a curve are fitted, and the true level further on is held against the 99 % band of the forecast.
*forecast* is the share of curves that were forecast at all; the others failed the back-test and were refused.
*worse* is the share that lies beyond the side that counts: a loss above its band, an accuracy below. The half
width of a loss is a factor.

| curve | times as far | forecast | covered | worse | half width |
|---|---|---|---|---|---|
"""

CHECKS = """
A plateau that is left later cannot be known: what the run then does is better than forecast, which is no
departure.

## False alarms of `stethoscope check`, simulated

Recipes are drawn, each trained with several seeds: noise from 1 % to 40 % with and without memory, seeds 5 %
apart, more or less, earlier or later by up to 12 %, logged every 1, 5 or 20 steps. A file is made from some
seeds, and another healthy seed is held to it: a loss, a validation loss, an accuracy and a
gradient norm. *found* is how often a run whose losses are twice as high from a third on leaves a band.

| healthy runs in the file | checks | false alarms | 95 % interval | found |
|---|---|---|---|---|
"""

SEEDS_TABLE = """
## False alarms on trained runs

Trainings of FaultBench (none of those held out): the same settings and data, another seed each. Every run is
held to the file of every other run, and to files made from three.

| training | runs | healthy runs in the file | checks | false alarms |
|---|---|---|---|---|
"""


LOGS = """
## Healthy logs of strangers, held to their own first half

Public logs whose curves look healthy, as if they had only been known up to their middle: the band of the
first half, and a forecast of the second where the back-test allows one.

"""


def page(record: dict[str, list[dict[str, object]]]) -> str:
    """What was measured, as Markdown."""
    parts = [FORECASTS, *map(_forecast_row, record.get("forecasts", []))]
    parts += [CHECKS, *map(_check_row, record.get("checks", []))]
    if record.get("seeds"):
        parts += [SEEDS_TABLE, *map(_seeds_row, record["seeds"]), *_all_seeds(record["seeds"])]
    if record.get("logs"):
        parts += [LOGS, _about_logs(record["logs"])]
    return "".join(parts)


def _about_logs(rows: list[dict]) -> str:
    told, refused = (sum(len(row[key]) for row in rows) for key in ("forecast", "refused"))
    left = [f"{row['log'].split('/')[0]}: {', '.join(row['left'])}" for row in rows if row["left"]]
    alarms = (
        f"{len(left)} of the logs left a band ({'; '.join(left)})" if left else "None of the logs left a band"
    )
    return (
        f"{len(rows)} logs; {told} curves were forecast, {refused} were refused or too short.\n"
        f"{alarms}: learning rates, bands, forecasts and warning signs together.\n"
    )


def _forecast_row(row: dict) -> str:
    wide = f"x {np.exp(row['half_width']):.2f}" if row["unit"] == "log" else f"{row['half_width']:.3f}"
    told = f"{row['forecast'] / max(row['draws'], 1):.0%} | {row['covered']:.1%} | {row['worse']:.1%}"
    return f"| {row['kind']} | {row['horizon']:g} | {told} | {wide} |\n"


def _check_row(row: dict) -> str:
    low, high = row["interval"]
    told = f"{row['alarms']} | {low:.2%} to {high:.2%} | {row['doubled']:.0%}"
    return f"| {row['seeds']} | {row['draws']:,} | {told} |\n"


def _seeds_row(row: dict) -> str:
    return f"| {row['task']} | {row['runs']} | {row['references']} | {row['checks']} | {row['alarms']} |\n"


def _all_seeds(rows: list[dict]) -> Iterator[str]:
    for references in sorted({row["references"] for row in rows}):
        of = [row for row in rows if row["references"] == references]
        runs, checks, alarms = (sum(row[key] for row in of) for key in ("runs", "checks", "alarms"))
        yield f"| all | {runs} | {references} | {checks} | {alarms} |\n"


if __name__ == "__main__":
    main()
