"""How often the rules that hold two logged curves against each other, or a curve against its start, speak.

    python benchmarks/log_rules.py [REPEATS]          printed, and kept in benchmarks/recorded/log_rules.json

Each healthy family is drawn with noise of several memories (AR(1) up to 0.95) and sizes, each fault with the
same noise. For every rule: the share of runs on which it says anything, a note included. Beside them the
share of runs that the whole line calls sick or at risk.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from false_alarms import Curves, ar1, run_of

from stethoscope.diagnose import judged
from stethoscope.run import Values

RECORD = Path(__file__).resolve().parent / "recorded" / "log_rules.json"
RULES = (
    *("NUM330", "VAL330", "VAL331", "LOS330", "LOS331", "LOS332", "LOS333", "LOS334", "SCH330", "SCH331"),
    *("LOS160", "LOS381", "LOS382", "VAL104", "VAL381", "VAL382"),
    *("LOS560", "LOS561", "VAL560", "VAL561", "VAL562", "LOS760", "VAL762"),
)
MEMORIES = (0.0, 0.5, 0.9, 0.95)
ALARMED = frozenset({"sick", "at-risk"})
STEPS = 2_000
Generator = np.random.Generator
Maker = Callable[["Noise"], Curves]


class Noise:
    """Draws the noise of one run: relative, of one size and memory."""

    def __init__(self, seed: int, rho: float) -> None:
        self.rng = np.random.default_rng([seed, round(100 * rho)])
        self.rho = rho
        self.points = int(self.rng.choice([60, 200, 1000]))
        self.evaluations = int(self.rng.choice([8, 16, 40]))
        self.size = float(self.rng.choice([0.02, 0.05, 0.15]))

    def time(self, count: int) -> Values:
        """From the first step to the last, as shares of the run."""
        return np.linspace(0.0, 1.0, count)

    def noisy(self, level: Values, size: float | None = None) -> Values:
        """A level with relative noise."""
        return np.asarray(level * np.exp((size or self.size) * ar1(self.rng, len(level), self.rho)))

    def trained(self, of_time: Callable[[Values], Values]) -> tuple[int, Values]:
        """A training curve."""
        return STEPS // self.points, self.noisy(of_time(self.time(self.points)))

    def held_out(self, of_time: Callable[[Values], Values], size: float = 0.01) -> tuple[int, Values]:
        """A curve of evaluations, whose noise is smaller."""
        return STEPS // self.evaluations, self.noisy(of_time(self.time(self.evaluations)), size)

    def share(self, of_time: Callable[[Values], Values]) -> tuple[int, Values]:
        """A share of right answers among a thousand."""
        wanted = of_time(self.time(self.evaluations))
        return STEPS // self.evaluations, self.rng.binomial(1000, np.clip(wanted, 0.0, 1.0)) / 1000.0


def main(repeats: int) -> None:
    """Print the shares and keep them."""
    kept = {
        kind: {name: _measured(make, repeats) for name, make in families.items()}
        for kind, families in (("healthy", HEALTHY), ("fault", FAULTS))
    }
    for kind, families in kept.items():
        print(f"\n{kind}: share of {repeats * len(MEMORIES)} runs each")
        for name, shares in families.items():
            said = ", ".join(f"{rule} {share:.1%}" for rule, share in shares.items() if share)
            print(f"  {name:<46} {said or '-'}")
    RECORD.write_text(json.dumps({"repeats": repeats, **kept}, indent=1) + "\n", encoding="utf-8")


def _measured(make: Maker, repeats: int) -> dict[str, float]:
    """The share of runs on which each rule speaks, and of those that are called sick or at risk."""
    said: Counter[str] = Counter()
    for rho in MEMORIES:
        for seed in range(repeats):
            diagnosis = judged(run_of(make(Noise(seed, rho))))
            said.update({found.rule.code for found in diagnosis.examination.found} & set(RULES))
            said["alarm"] += diagnosis.verdict.value in ALARMED
            said["warned"] += bool(diagnosis.explanation.symptoms)
    runs = repeats * len(MEMORIES)
    return {name: said[name] / runs for name in ("alarm", "warned", *RULES)}


def _falls(floor: float, gain: float, pace: float) -> Callable[[Values], Values]:
    return lambda t: floor + gain * np.exp(-pace * t)


# ---- healthy families --------------------------------------------------------------------------------------


def regression(draw: Noise) -> Curves:
    pace, floor = draw.rng.uniform(3, 30), draw.rng.uniform(0.02, 0.3)
    return {
        "loss": draw.trained(_falls(floor, 1.0, pace)),
        "val/loss": draw.held_out(_falls(1.2 * floor, 1.0, pace)),
        "val/psnr": draw.held_out(lambda t: 20 - 10 * np.log10(1.2 * floor + np.exp(-pace * t)), 0.002),
        "lr": (STEPS // draw.points, np.full(draw.points, 1e-3)),
    }


def fitted_to_nothing(draw: Noise) -> Curves:
    """A classifier that knows its training data by heart and is well on others."""
    pace, floor = draw.rng.uniform(5, 20), draw.rng.uniform(0.1, 0.4)
    return {
        "loss": draw.trained(_falls(0.002, 2.3, pace)),
        "val/loss": draw.held_out(_falls(floor, 2.0, pace)),
        "val/accuracy": draw.share(lambda t: 1 - floor / 3 - 0.8 * np.exp(-pace * t)),
    }


def smoothed(draw: Noise) -> Curves:
    """Smoothed labels, in training and in validation."""
    classes = int(draw.rng.integers(3, 50))
    keep = 1 - draw.rng.uniform(0.05, 0.2)
    rest = (1 - keep) / (classes - 1)
    floor = -keep * math.log(keep) - (classes - 1) * rest * math.log(rest)
    fall = _falls(floor, math.log(classes) - floor, draw.rng.uniform(5, 20))
    return {
        "loss": draw.trained(fall),
        "val/loss": draw.held_out(fall),
        "val/accuracy": draw.share(lambda t: 0.97 - 0.8 * np.exp(-8 * t)),
    }


def tuned(draw: Noise) -> Curves:
    level = _falls(1.8, 0.1, 3.0)
    return {"loss": draw.trained(level), "val/loss": draw.held_out(level)}


def next_stage(draw: Noise) -> Curves:
    """New data at half of the run, from about the first level, and learned faster."""
    at, pace, height = draw.rng.uniform(0.3, 0.7), draw.rng.uniform(10, 25), draw.rng.uniform(0.7, 1.3)
    faster = draw.rng.uniform(3, 10)

    def level(t: Values) -> Values:
        first = 0.3 + 2 * np.exp(-pace * t)
        return np.where(t < at, first, 0.4 + (2.3 * height - 0.4) * np.exp(-faster * pace * (t - at)))

    return {"loss": draw.trained(level)}


def cyclic(draw: Noise) -> Curves:
    wave = 0.5 * (1 + np.cos(8 * np.pi * draw.time(draw.points)))
    level = (0.3 + 2 * np.exp(-12 * draw.time(draw.points))) * (1 + 0.3 * wave)
    gap = STEPS // draw.points
    return {"loss": (gap, draw.noisy(level)), "lr": (gap, 1e-4 + 1e-3 * wave)}


def recovered(draw: Noise) -> Curves:
    """A spike to the first level that is gone within a few values."""
    level = 0.3 + 2 * np.exp(-12 * draw.time(draw.points))
    at = int(draw.rng.integers(draw.points // 3, draw.points - 15))
    level[at : at + 12] += 2.0 * np.exp(-np.arange(12) / 2.0)
    return {"loss": (STEPS // draw.points, draw.noisy(level))}


def late_score(draw: Noise) -> Curves:
    """Learned by heart first, understood late."""
    turn = draw.rng.uniform(0.4, 0.7)
    return {
        "loss": draw.trained(_falls(0.01, 3.1, 20)),
        "val/accuracy": draw.share(lambda t: 0.9 / (1 + np.exp(-30 * (t - turn)))),
    }


def slow_to_generalise(draw: Noise) -> Curves:
    """Held-out data gain slowly, and wander as a network does that its last batches moved."""
    fall = draw.rng.uniform(0.45, 0.7)
    return {
        "loss": draw.trained(_falls(0.2, 0.8, 15)),
        "val/loss": draw.held_out(lambda t: 1.0 - fall * t, 0.02),
    }


def game(draw: Noise) -> Curves:
    gap = STEPS // draw.points
    return {
        "loss/pix": draw.trained(_falls(0.03, 0.1, 10)),
        "loss/g_gan": (gap, 0.7 * np.exp(0.2 * ar1(draw.rng, draw.points, draw.rho))),
        "loss/d": (gap, 1.3 * np.exp(0.1 * ar1(draw.rng, draw.points, draw.rho))),
        "lr/g": (gap, np.full(draw.points, 1e-4)),
        "lr/d": (gap, np.full(draw.points, 2e-4)),
    }


def skipped_now_and_then(draw: Noise) -> Curves:
    gap, loss = draw.trained(_falls(0.3, 2.0, 10))
    loss[draw.rng.random(len(loss)) < 0.02] = np.nan
    return {"loss": (gap, loss), "grad_norm": (gap, np.exp(0.3 * draw.rng.standard_normal(len(loss))))}


def density(draw: Noise) -> Curves:
    """A likelihood that goes below zero on both sides."""
    gap, shape = STEPS // draw.points, draw.time(draw.points)
    noise = 0.1 * ar1(draw.rng, draw.points, draw.rho)
    held = 1.2 - 3.0 * (1 - np.exp(-6 * draw.time(draw.evaluations)))
    return {
        "loss": (gap, 1.0 - 4.0 * (1 - np.exp(-6 * shape)) + noise),
        "val/loss": (STEPS // draw.evaluations, held),
    }


def half_right(draw: Noise) -> Curves:
    """A classifier that is given logits, and of whose answers many stay wrong."""
    classes, pace = int(draw.rng.integers(3, 50)), draw.rng.uniform(4, 15)
    right = draw.rng.uniform(0.3, 0.8)
    gain = (right - 0.5 / classes) * math.log(classes)
    fall = _falls(math.log(classes) - gain, gain, pace)
    return {
        "loss": draw.trained(fall),
        "val/loss": draw.held_out(fall),
        "val/accuracy": draw.share(lambda t: 1 / classes + (right - 1 / classes) * (1 - np.exp(-pace * t))),
    }


def unsure_at_first(draw: Noise) -> Curves:
    """A loss that rises at the end of a good training, of a network that is sure of its mistakes."""
    pace, rise = draw.rng.uniform(10, 25), draw.rng.uniform(0.0, 0.04)
    return {
        "loss": draw.trained(_falls(0.05, 2.2, pace)),
        "val/loss": draw.held_out(lambda t: 0.7 + 1.6 * np.exp(-pace * t) + rise * t),
        "val/accuracy": draw.share(lambda t: 0.8 - 0.7 * np.exp(-pace * t)),
    }


def penalty_that_goes(draw: Noise) -> Curves:
    """A penalty that is large at first, with the task learned beside it."""
    learned, height = _falls(0.3, 1.2, draw.rng.uniform(4, 12)), draw.rng.uniform(10, 60)
    return {
        "loss": draw.trained(lambda t: learned(t) + height * np.exp(-30 * t)),
        "val/loss": draw.held_out(learned),
    }


HEALTHY: dict[str, Maker] = {
    "a classifier that stays half right": half_right,
    "a network that is sure of its mistakes": unsure_at_first,
    "a penalty that goes": penalty_that_goes,
    "regression, held-out data a fifth above": regression,
    "fitted to nothing, well on held-out data": fitted_to_nothing,
    "smoothed labels, 3 to 49 classes": smoothed,
    "fine-tuning": tuned,
    "new data from about the first level": next_stage,
    "cyclic rate": cyclic,
    "a spike to the first level that heals": recovered,
    "scores that come late": late_score,
    "held-out data that gain slowly": slow_to_generalise,
    "a balanced game": game,
    "2 % of the losses lost": skipped_now_and_then,
    "a likelihood below zero": density,
}


# ---- faults ------------------------------------------------------------------------------------------------


def started_over(draw: Noise) -> Curves:
    at, pace = draw.rng.uniform(0.3, 0.6), draw.rng.uniform(10, 25)
    return {"loss": draw.trained(lambda t: 0.3 + 2 * np.exp(-pace * np.where(t < at, t, t - at)))}


def slow_average(draw: Noise) -> Curves:
    fall = draw.rng.uniform(0.1, 0.4)
    return {
        "loss": draw.trained(_falls(0.1, 0.9, 15)),
        "val/loss": draw.held_out(lambda t: 1.0 - fall * t ** draw.rng.uniform(0.8, 1.5), 1e-4),
    }


def negated(draw: Noise) -> Curves:
    rise = draw.rng.uniform(4, 20)
    gap, error = draw.trained(lambda t: 0.5 * np.exp(rise * t))
    return {"loss": (gap, -error), "val/loss": draw.held_out(lambda t: 0.6 * np.exp(rise * t))}


def double_softmax(draw: Noise) -> Curves:
    classes = int(draw.rng.integers(3, 50))
    floor = math.log(math.e + classes - 1) - 1
    fall = _falls(0.0, math.log(classes) - floor, draw.rng.uniform(8, 20))
    gap, above = draw.trained(lambda t: fall(t) + 0.03)
    held_gap, held = draw.held_out(lambda t: fall(t) + 0.005, 0.1)
    return {
        "loss": (gap, np.minimum(floor + above, math.log(classes))),
        "val/loss": (held_gap, floor + held),
        "val/accuracy": draw.share(lambda t: 0.99 - 0.7 * np.exp(-8 * t)),
    }


def no_score(draw: Noise) -> Curves:
    return {"loss": draw.trained(_falls(0.7, 0.6, 15)), "val/iou": draw.share(lambda t: 0.002 + 0 * t)}


def lost_batches(draw: Noise) -> Curves:
    gap, loss = draw.trained(_falls(0.3, 2.0, 10))
    loss[draw.rng.random(len(loss)) < 0.12] = np.nan
    return {"loss": (gap, loss), "grad_norm": (gap, np.exp(0.3 * draw.rng.standard_normal(len(loss))))}


def by_heart(draw: Noise) -> Curves:
    rise = draw.rng.uniform(0.3, 1.0)
    return {
        "loss": draw.trained(_falls(0.01, 1.0, 10)),
        "val/loss": draw.held_out(lambda t: 0.5 + 0.5 * np.exp(-20 * t) + rise * np.maximum(0.0, t - 0.2)),
    }


def softmax_half_right(draw: Noise) -> Curves:
    classes, pace = int(draw.rng.integers(3, 50)), draw.rng.uniform(4, 15)
    whole, right = math.log(math.e + classes - 1), draw.rng.uniform(0.4, 0.8)
    share = _falls(right, 1 / classes - right, pace)
    gap, trained = draw.trained(lambda t: whole - share(t))
    trained[:3] = math.log(classes)
    evaluations = draw.time(draw.evaluations)
    held = whole - share(evaluations) + 0.005 * ar1(draw.rng, draw.evaluations, draw.rho)
    return {
        "loss": (gap, np.clip(trained, whole - 1, math.log(classes))),
        "val/loss": (STEPS // draw.evaluations, held),
        "val/accuracy": draw.share(share),
    }


def another_range(draw: Noise) -> Curves:
    times = draw.rng.uniform(1.4, 4)
    return {
        "loss": draw.trained(_falls(0.1, 0.9, 15)),
        "val/loss": draw.held_out(lambda t: np.where(t <= 0.0, 0.95, 0.95 * times), 0.05),
    }


def handful(draw: Noise) -> Curves:
    samples, right = int(draw.rng.integers(4, 13)), draw.rng.uniform(0.4, 0.7)
    drawn = draw.rng.binomial(samples, right, draw.evaluations) / samples
    return {
        "loss": draw.trained(_falls(0.4, 1.0, 10)),
        "val/accuracy": (STEPS // draw.evaluations, drawn),
    }


def paid_for_errors(draw: Noise) -> Curves:
    gap, fall = draw.trained(_falls(0.1, 0.9, 12))
    return {
        "loss": (gap, fall - 1.3),
        "val/loss": draw.held_out(lambda t: 1.4 + 40 * (1 - np.exp(-8 * t)), 0.02),
    }


def thrown_again_and_again(draw: Noise) -> Curves:
    gap, level = draw.trained(_falls(0.3, 1.7, 30))
    late = draw.time(draw.points) > draw.rng.uniform(0.1, 0.4)
    level[late] *= np.exp(draw.rng.uniform(3.5, 9.5, int(late.sum())))
    return {"loss": (gap, level)}


def penalty_that_drowns(draw: Noise) -> Curves:
    height = draw.rng.uniform(10, 60)
    return {
        "loss": draw.trained(lambda t: 1.5 + height * np.exp(-30 * t)),
        "val/loss": draw.held_out(lambda t: 1.5 + 0 * t),
    }


FAULTS: dict[str, Maker] = {
    "a softmax of a softmax, half right (LOS160)": softmax_half_right,
    "held-out data in another range (VAL561)": another_range,
    "a handful evaluated (VAL562)": handful,
    "paid for errors (LOS560)": paid_for_errors,
    "thrown far off again and again (LOS561)": thrown_again_and_again,
    "a penalty that drowns the task (VAL560)": penalty_that_drowns,
    "begun anew in the middle (LOS382)": started_over,
    "an average that is too slow (VAL381)": slow_average,
    "the negative of the error minimised (LOS381)": negated,
    "a softmax of a softmax (LOS160)": double_softmax,
    "no score at all (VAL382)": no_score,
    "12 % of the losses lost (NUM330)": lost_batches,
    "learned by heart (VAL330)": by_heart,
}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
