"""How often the verdicts of a trial are right, on simulated scores whose truth is known.

    python benchmarks/trial_size.py [REPEATS] [SEEDS]

A simulated trial has one real cure, a fix that does nothing, advice that does nothing, advice of a known
effect, and the placebo. Scores are the effect of an arm's changes plus noise of one standard deviation
between seeds, of which a part is common to all arms of a seed (`pairing` is its share). Prints, for every
distance between sick and cured (in standard deviations between seeds):

    nulls       of the changes that do nothing: "no effect", undecided, anything else (wrong), and the share
                of "no effect" among those that are decided
    power       of advice that is worth 1, 2, 4 and -4 standard deviations: how often each class is given
    intervals   how often the 95 % interval of 8 differences holds the truth
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stethoscope.trials import Change, Class, Ending, Metric, Outcome, Trial, TrialResult, judge
from stethoscope.trials.arms import arms_of
from stethoscope.trials.paired import interval

Values = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Values]

DISTANCES = (0.0, 4.0, 8.0, 20.0)
PAIRINGS = (0.0, 0.5, 0.9)
EFFECTS = (1.0, 2.0, 4.0, -4.0)
NULLS = ("idle fix", "idle advice", "placebo")


def main(repeats: int, seeds: int) -> None:
    """Print the tables."""
    began = time.perf_counter()
    print(f"{repeats} trials of {seeds} seeds in every row; noise of a sick arm as large as of a cured one\n")
    print("distance  pairing  noise    no effect  undecided  wrong   no effect of decided")
    every: Counter[str] = Counter()
    for distance in DISTANCES:
        for pairing in PAIRINGS:
            for name, noise in NOISES.items():
                counted = Counter(nulls(distance, pairing, noise, seeds, repeats))
                every.update(counted)
                print(f"{distance:8g}  {pairing:7g}  {name:7}  {_shares(counted)}")
    print(f"{'all':27}{_shares(every)}\n")
    wild = Counter(nulls(8.0, 0.5, _normal, seeds, repeats, sick_sd=3.0))
    print(f"sick arms with three times the noise, distance 8, pairing 0.5: {_shares(wild)}\n")
    print("Advice of a known effect, normal noise: how often each class is given")
    for distance in DISTANCES:
        for pairing in PAIRINGS[:2]:
            for effect in EFFECTS:
                given = Counter(classes(distance, pairing, effect, seeds, repeats))
                said = ", ".join(f"{name} {count / repeats:.0%}" for name, count in given.most_common())
                print(f"distance {distance:2g}, pairing {pairing:3g}, effect {effect:+g} sd: {said}")
    print("\nThe 95 % interval of the mean of 8 differences holds the truth")
    for name, noise in NOISES.items():
        print(f"{name:7} {coverage(noise, 10 * repeats):.1%}")
    print(f"\n{time.perf_counter() - began:.0f} s")


def nulls(
    distance: float, pairing: float, noise: Noise, seeds: int, repeats: int, sick_sd: float = 1.0
) -> Iterator[str]:
    """The verdict on each change that does nothing."""
    for repeat in range(repeats):
        result = simulated(distance, 0.0, pairing, noise, seeds, repeat, sick_sd)
        yield from (v.spoken for v in (*result.verdicts, result.placebo) if v and v.change in NULLS)


def classes(distance: float, pairing: float, effect: float, seeds: int, repeats: int) -> Iterator[str]:
    """The verdict on advice of this effect."""
    for repeat in range(repeats):
        result = simulated(distance, effect, pairing, _normal, seeds, repeat)
        yield next(verdict.spoken for verdict in result.verdicts if verdict.change == "advice")


def coverage(noise: Noise, repeats: int) -> float:
    """How often the interval of eight paired differences holds zero, which is the truth."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(repeats):
        low, high = interval((noise(rng, 8) - noise(rng, 8)).tolist())
        held += low <= 0.0 <= high
    return held / repeats


def simulated(
    distance: float,
    effect: float,
    pairing: float,
    noise: Noise,
    seeds: int,
    repeat: int,
    sick_sd: float = 1.0,
) -> TrialResult:
    """One trial, judged."""
    rng = np.random.default_rng([repeat, int(1000 * pairing), int(10 * distance), int(10 * effect) + 100])
    worth = {"cure": distance, "advice": effect}
    changes = (
        Change("cure", ()),
        Change("idle fix", ()),
        Change("idle advice", (), in_cure=False),
        Change("advice", (), in_cure=False),
    )
    placebo = Change("placebo", (), in_cure=False)
    trial = Trial(
        "simulated",
        Path(),
        ("train",),
        Metric("score", "max"),
        changes,
        Path(),
        seeds=tuple(range(seeds)),
        placebo=placebo,
    )
    arms = arms_of(trial)
    common = noise(rng, seeds)
    outcomes = []
    for arm in arms:
        spread = 1.0 if "cure" in arm.changes else sick_sd
        own = math.sqrt(pairing) * common + math.sqrt(1 - pairing) * noise(rng, seeds)
        scores = sum(worth.get(change, 0.0) for change in arm.changes) + spread * own
        outcomes += [
            Outcome(arm.name, seed, Ending.SCORED, float(score), fingerprint=f"{score}")
            for seed, score in enumerate(scores)
        ]
    return judge(trial, arms, outcomes)


def _shares(counted: Counter[str]) -> str:
    total = sum(counted.values())
    none, undecided = counted[Class.NO_EFFECT], counted[Class.UNDECIDED]
    wrong = total - none - undecided
    of_decided = none / (none + wrong) if none + wrong else math.nan
    return f"{none / total:9.1%}  {undecided / total:9.1%}  {wrong / total:5.1%}   {of_decided:6.1%}"


def _normal(rng: np.random.Generator, count: int) -> Values:
    return rng.normal(size=count)


def _skewed(rng: np.random.Generator, count: int) -> Values:
    """Most runs near the best, some far below: minus a log-normal, with a standard deviation of 1."""
    sigma = 0.8
    spread = math.sqrt((math.exp(sigma**2) - 1) * math.exp(sigma**2))
    return (math.exp(sigma**2 / 2) - rng.lognormal(0.0, sigma, count)) / spread


def _heavy(rng: np.random.Generator, count: int) -> Values:
    """Student's t with 3 degrees of freedom, with a standard deviation of 1."""
    return rng.standard_t(3, count) / math.sqrt(3)


NOISES: dict[str, Noise] = {"normal": _normal, "skewed": _skewed, "heavy": _heavy}

if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 200,
        int(sys.argv[2]) if len(sys.argv) > 2 else 8,
    )
