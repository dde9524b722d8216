"""How often `compare` parts two runs that differ in their seeds alone, and how soon it sees a fault.

python benchmarks/compare_parting.py [--seeds FOLDER]

Runs are trainings of a small network in numpy (400 updates, logged every 4, validated every 20), each with
its own weights, batches and noise. Faults are planted at update 200: the rate times 4, targets shuffled,
gradients that lose their sign with chance 0.5, no further learning. FOLDER holds runs of one task each in
TASK-SEED folders; every pair of one task is compared. The figures go to recorded/compare_parting.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from stethoscope.compare.pairing import Paired
from stethoscope.compare.parting import parting
from stethoscope.compare.signal_partings import compared_signals
from stethoscope.detectors.distributions import clopper_pearson
from stethoscope.run import Run, Series

RECORD = Path(__file__).parent / "recorded" / "compare_parting.json"
ALPHA = 0.01
UPDATES, EVERY, VALIDATED, PLANTED_AT = 400, 4, 20, 200
FAULTS = ("rate", "targets", "signs", "stopped")
SEEDS = 40
PAIRS = 300
CURVES = 200  # pairs of drawn curves for each length and memory


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=Path)
    given = parser.parse_args()
    healthy = [trained(seed) for seed in range(SEEDS)]
    figures = {
        "nominal": ALPHA,
        "drawn_curves": drawn_curves(),
        "trainings": {"one_good": pairs(healthy, 1), "four_good": pairs(healthy, 4)},
        "faults": {fault: faults(healthy, fault) for fault in FAULTS},
    }
    if given.seeds is not None:
        figures["runs"] = read_runs(given.seeds)
    RECORD.write_text(json.dumps(figures, indent=2) + "\n")
    print(json.dumps(figures, indent=2))


def share(hits: int, of: int) -> dict[str, float]:
    """A proportion with its 95 % interval."""
    low, high = clopper_pearson(hits, of)
    return {
        "hits": hits,
        "of": of,
        "share": round(hits / of, 4),
        "low": round(low, 4),
        "high": round(high, 4),
    }


def pairs(healthy: list[Run], goods: int) -> dict[str, float]:
    """How often one of some healthy runs is said to part from others."""
    rng = np.random.default_rng(goods)
    parted = 0
    for _ in range(PAIRS):
        *good, bad = (healthy[place] for place in rng.choice(len(healthy), goods + 1, replace=False))
        parted += compared_signals(good, bad, ALPHA).first is not None
    return share(parted, PAIRS)


def faults(healthy: list[Run], fault: str) -> dict[str, object]:
    """How many faulty runs are seen to part, how long after the fault, and how far off the dated step is."""
    delays, errors, early = [], [], 0
    for seed in range(SEEDS):
        signals = compared_signals([healthy[seed]], trained(1000 + seed, fault), ALPHA)
        if signals.first is None or signals.first.part is None:
            continue
        part = min((one.part for one in signals.parted if one.part), key=lambda one: one.sure)
        early += part.sure < PLANTED_AT
        delays.append((part.sure - PLANTED_AT) / UPDATES)
        errors.append((signals.first.part.step - PLANTED_AT) / UPDATES)
    found = share(len(delays), SEEDS)
    if not delays:
        return {"found": found}
    quartiles = [0.25, 0.5, 0.75]
    return {
        "found": found,
        "before_the_fault": early,
        "delay_of_run": np.quantile(delays, quartiles).round(3).tolist(),
        "dated_off_of_run": np.quantile(errors, quartiles).round(3).tolist(),
    }


def drawn_curves() -> dict[str, dict[str, float]]:
    """Pairs of drawn curves: level, speed and noise with memory are a seed's own."""
    rng = np.random.default_rng(7)
    told = {}
    for points, memory in itertools.product((12, 50, 200), (0.0, 0.5, 0.9, 0.98)):
        steps = np.arange(points) * 10
        hits = 0
        for _ in range(CURVES):
            good, bad = drawn(rng, points, memory), drawn(rng, points, memory)
            hits += parting(Paired("loss", steps, good[None], bad), ALPHA) is not None
        told[f"{points} points, memory {memory}"] = share(hits, CURVES)
    return told


def drawn(rng: np.random.Generator, points: int, memory: float) -> np.ndarray:
    """A loss that falls: 1 % off in level, 5 % in speed, with noise of 5 %."""
    noise = np.empty(points)
    noise[0] = rng.normal()
    for place in range(1, points):
        noise[place] = memory * noise[place - 1] + np.sqrt(1 - memory**2) * rng.normal()
    passed = np.arange(points) / points * (1 + 0.05 * rng.normal())
    return (0.3 + 3 / (1 + 30 * passed)) * np.exp(0.01 * rng.normal() + 0.05 * noise)


def trained(seed: int, fault: str = "") -> Run:
    """A two-layer network learns a smooth function by Adam; its losses and gradient norms as a run."""
    rng = np.random.default_rng(seed)
    weights = [
        rng.normal(size=(6, 32)) / 6**0.5,
        np.zeros(32),
        rng.normal(size=(32, 1)) / 32**0.5,
        np.zeros(1),
    ]
    first, second = [np.zeros_like(one) for one in weights], [np.zeros_like(one) for one in weights]
    held_x, held_y = batch(np.random.default_rng(123), 512)
    log: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for update in range(1, UPDATES + 1):
        struck = fault if update > PLANTED_AT else ""
        x, y = batch(rng, 32)
        y = rng.permutation(y) if struck == "targets" else y
        loss, gradients = loss_and_gradients(weights, x, y)
        norm = float(np.sqrt(sum((one**2).sum() for one in gradients)))
        rate = 0.01 * (1 - update / (1.2 * UPDATES)) * (4.0 if struck == "rate" else 1.0)
        for place, gradient in enumerate(gradients):
            turned = gradient * rng.choice([-1.0, 1.0]) if struck == "signs" else gradient
            first[place] = 0.9 * first[place] + 0.1 * turned
            second[place] = 0.99 * second[place] + 0.01 * turned**2
            step = first[place] / (1 - 0.9**update) / (np.sqrt(second[place] / (1 - 0.99**update)) + 1e-8)
            weights[place] = weights[place] - (0.0 if struck == "stopped" else rate) * step
        if update % EVERY == 0:
            log["loss"].append((update, loss))
            log["grad_norm"].append((update, norm))
        if update % VALIDATED == 0:
            log["val/loss"].append((update, loss_and_gradients(weights, held_x, held_y)[0]))
    return Run("", f"seed {seed}", series={name: series(name, points) for name, points in log.items()})


def batch(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, and a smooth function of them with noise."""
    x = rng.normal(size=(size, 6))
    y = np.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3] + 0.1 * rng.normal(size=(size, 1))
    return x, y


def loss_and_gradients(
    weights: list[np.ndarray], x: np.ndarray, y: np.ndarray
) -> tuple[float, list[np.ndarray]]:
    """The mean squared error of the network, and its gradients."""
    inner = np.tanh(x @ weights[0] + weights[1])
    error = inner @ weights[2] + weights[3] - y
    out = 2 * error / len(x)
    back = (out @ weights[2].T) * (1 - inner**2)
    return float((error**2).mean()), [x.T @ back, back.sum(0), inner.T @ out, out.sum(0)]


def series(name: str, points: list[tuple[int, float]]) -> Series:
    """A series of a run."""
    steps, values = zip(*points, strict=True)
    return Series(name, name, np.array(steps, dtype=np.int64), np.array(values, dtype=np.float64))


def read_runs(folder: Path) -> dict[str, dict[str, float]]:
    """Every pair of runs of one task, in both orders."""
    from stethoscope.read import read

    tasks: dict[str, list[Run]] = defaultdict(list)
    for home in sorted(folder.iterdir()):
        tasks[home.name.rpartition("-")[0]].append(read(home))
    told = {}
    for task, runs in tasks.items():
        both = list(itertools.permutations(runs, 2))
        told[task] = share(
            sum(compared_signals([good], bad, ALPHA).first is not None for good, bad in both), len(both)
        )
    return told


if __name__ == "__main__":
    main()
