"""How often each curve rule speaks up on healthy synthetic runs, and how often it finds planted faults.

    python benchmarks/false_alarms.py [REPEATS]

Prints two tables: for every healthy family the share of runs on which a rule gives a warning or worse, and
for every fault the share on which the rule it is meant for does. Also the time that all rules together
take on a run of 100,000 points in ten series.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from stethoscope.findings import apply, catalogue
from stethoscope.findings.finding import RuleEntry, Severity
from stethoscope.run import Run, Series, Values
from stethoscope.signals import Missing, measure

FAMILIES = ("numerics", "amp", "loss", "validation", "schedule")
Curves = dict[str, tuple[int, Values]]  # name -> steps between points, values
Maker = Callable[[np.random.Generator], Curves]
STEPS = 10_000


def main(repeats: int) -> None:
    """Print the tables."""
    print(f"Healthy runs, {repeats} of each family: share with a warning or worse, by rule\n")
    total: Counter[str] = Counter()
    for name, make in HEALTHY.items():
        spoken = Counter(
            code for seed in range(repeats) for code in alarms(make(np.random.default_rng(seed)))
        )
        total.update(spoken)
        said = ", ".join(f"{code} {count / repeats:.1%}" for code, count in sorted(spoken.items()))
        print(f"  {name:<42} {said or '-'}")
    runs = repeats * len(HEALTHY)
    print(
        f"\n  all {runs} runs: "
        + (", ".join(f"{c} {n / runs:.2%}" for c, n in sorted(total.items())) or "none")
    )
    print(f"\nPlanted faults, {repeats} of each: share found by the rule meant for it\n")
    for name, (codes, make) in SICK.items():
        found = sum(bool(alarms(make(np.random.default_rng(seed))) & set(codes)) for seed in range(repeats))
        print(f"  {name:<42} {'/'.join(codes):<14} {found / repeats:.0%}")
    print(f"\nAll rules on ten series of 100,000 points: {seconds_for_a_long_run():.2f} s of CPU time")


def alarms(curves: Curves) -> set[str]:
    """The codes of the rules that give a warning or worse."""
    signals = measure(run_of(curves))
    return {rule.code for rule in curve_rules() if _alarmed(apply(rule, signals), rule)}


def run_of(curves: Curves) -> Run:
    """A run with these curves."""
    series = {
        name: Series(name, name, np.arange(len(values), dtype=np.int64) * gap, np.asarray(values, np.float64))
        for name, (gap, values) in curves.items()
    }
    return Run("synthetic", "synthetic", series=series)


def curve_rules() -> list[RuleEntry]:
    return [rule for rule in catalogue() if rule.family in FAMILIES]


def _alarmed(outcome: object, rule: RuleEntry) -> bool:
    if isinstance(outcome, Missing):
        if "failed" in outcome.why:
            raise RuntimeError(f"{rule.code}: {outcome.why}")
        return False
    assert isinstance(outcome, tuple)
    return any((finding.severity or rule.severity) is not Severity.NOTE for finding in outcome)


def seconds_for_a_long_run() -> float:
    """CPU seconds of all rules on ten series of 100,000 points."""
    rng = np.random.default_rng(0)
    count = 100_000
    curves: Curves = {"loss": (1, power_law(count) * np.exp(0.1 * rng.standard_normal(count)))}
    curves |= {f"loss/{term}": (1, 0.3 * curves["loss"][1]) for term in ("l1", "ssim", "fft")}
    curves["grad_norm"] = (1, np.exp(0.3 * rng.standard_normal(count)))
    curves["lr"] = (1, cosine(count))
    curves["loss_scale"] = (1, 2.0 ** (16 + (np.arange(count) // 2000) % 3))
    curves |= {f"weight/{term}": (1, np.ones(count)) for term in ("l1", "ssim")}
    curves["val/psnr"] = (1, 30 + 3 * (1 - power_law(count) / 11) + 0.1 * rng.standard_normal(count))
    run = run_of(curves)
    start = time.process_time()
    for rule in curve_rules():
        apply(rule, measure(run))
    return time.process_time() - start


# ---- the parts curves are made of ------------------------------------------------------------------------


def power_law(count: int, floor: float = 2.0, gain: float = 9.0, exponent: float = 0.5) -> Values:
    t = np.linspace(0.0, STEPS, count)
    return np.asarray(floor + gain * (1.0 + t / 20.0) ** -exponent, dtype=np.float64)


def cosine(count: int, peak: float = 1e-3, warm_up: float = 0.05) -> Values:
    t = np.linspace(0.0, 1.0, count)
    decay = 0.5 * (1 + np.cos(np.pi * np.clip((t - warm_up) / (1 - warm_up), 0, 1)))
    return np.asarray(peak * np.where(t < warm_up, t / warm_up, decay), dtype=np.float64)


def ar1(rng: np.random.Generator, count: int, rho: float) -> Values:
    shocks = rng.standard_normal(count) * math.sqrt(1 - rho * rho)
    values = np.empty(count)
    values[0] = rng.standard_normal()
    for t in range(1, count):
        values[t] = rho * values[t - 1] + shocks[t]
    return values


def validated(rng: np.random.Generator, curves: Curves, evaluations: int, rho: float, sd: float) -> Curves:
    """Add a validation loss and a PSNR that improve like the training loss, at `evaluations` steps."""
    clean = power_law(evaluations, floor=2.2)
    gap = STEPS // evaluations
    curves["val/loss"] = (gap, clean * np.exp(sd * ar1(rng, evaluations, rho)))
    curves["val/psnr"] = (gap, 36 - clean + 10 * sd * ar1(rng, evaluations, rho))
    return curves


def scaler(rng: np.random.Generator, ceiling: float) -> Values:
    """The scale of a healthy model whose gradients overflow above about 2^ceiling."""
    octave, clean, path = 16, 0, []
    limits = ceiling + 0.7 * rng.standard_normal(STEPS)
    for limit in limits.tolist():
        if octave > limit:
            octave, clean = octave - 1, 0
        elif (clean := clean + 1) == 2000:
            octave, clean = octave + 1, 0
        path.append(2.0**octave)
    return np.array(path)


# ---- healthy families --------------------------------------------------------------------------------------


def iid(rng: np.random.Generator) -> Curves:
    return validated(
        rng, {"loss": (10, power_law(1000) * np.exp(0.05 * rng.standard_normal(1000)))}, 40, 0.0, 0.01
    )


def remembering(rng: np.random.Generator) -> Curves:
    return validated(rng, {"loss": (10, power_law(1000) * np.exp(0.05 * ar1(rng, 1000, 0.9)))}, 40, 0.5, 0.01)


def student(rng: np.random.Generator) -> Curves:
    noisy = power_law(1000) * (1 + 0.05 * rng.standard_t(4, 1000))
    return validated(rng, {"loss": (10, np.maximum(noisy, 0.01))}, 100, 0.3, 0.01)


def lognormal(rng: np.random.Generator) -> Curves:
    return {"loss": (1, 0.1 * rng.lognormal(0.0, 0.6, STEPS)), "lr": (1, np.full(STEPS, 1e-4))}


def diffusion(rng: np.random.Generator) -> Curves:
    return {"loss": (1, (0.02 + 0.3 * power_law(STEPS) / 11) * rng.lognormal(0.0, 1.0, STEPS))}


def step_decay(rng: np.random.Generator) -> Curves:
    t = np.arange(1000)
    lr = 1e-3 * 0.1 ** (t // 400)
    level = power_law(1000, floor=1.0) * np.where(t < 400, 1.0, np.where(t < 800, 0.8, 0.75))
    return validated(
        rng, {"loss": (10, level * np.exp(0.03 * rng.standard_normal(1000))), "lr": (10, lr)}, 20, 0.3, 0.01
    )


def cosine_restarts(rng: np.random.Generator) -> Curves:
    lr = 0.5e-3 * (1 + np.cos(np.pi * (np.arange(1000) % 250) / 250))
    bump = 1 + 0.05 * lr / 1e-3
    return {"loss": (10, power_law(1000) * bump * np.exp(0.03 * rng.standard_normal(1000))), "lr": (10, lr)}


def warm_up_cosine(rng: np.random.Generator) -> Curves:
    curves = {"loss": (10, power_law(1000) * np.exp(0.05 * ar1(rng, 1000, 0.5))), "lr": (10, cosine(1000))}
    return validated(rng, curves, 12, 0.0, 0.02)


def curriculum(rng: np.random.Generator) -> Curves:
    difficulty = np.clip(np.arange(1000) / 700, 0, 1)
    return {
        "loss": (10, (0.3 + 1.7 * difficulty) * np.exp(0.05 * rng.standard_normal(1000))),
        "difficulty": (10, difficulty),
    }


def fine_tuning(rng: np.random.Generator) -> Curves:
    loss = 1.9 - 0.1 * np.linspace(0, 1, 300) + 0.25 * rng.standard_normal(300)
    return {"loss": (10, loss), "lr": (10, cosine(300, 1e-5)), "val/loss": (500, 1.9 - 0.01 * np.arange(6.0))}


def negative(rng: np.random.Generator) -> Curves:
    loss = -0.95 + 1.2 * power_law(1000, 0.0, 1.0) + 0.03 * rng.standard_normal(1000)
    return {
        "loss": (1, loss),
        "val/loss": (25, -0.9 + power_law(40, 0.0, 1.0) + 0.02 * rng.standard_normal(40)),
    }


def running_mean(rng: np.random.Generator) -> Curves:
    raw = power_law(1000) * np.exp(0.1 * rng.standard_normal(1000))
    return {"loss": (10, np.cumsum(raw) / np.arange(1, 1001))}


def game(rng: np.random.Generator) -> Curves:
    adversary = 0.7 + 0.001 * np.arange(1000) + 0.2 * ar1(rng, 1000, 0.95)
    pixels = 0.03 * np.exp(0.3 * rng.standard_normal(1000))
    return {
        "loss": (10, pixels + adversary),
        "loss/pix": (10, pixels),
        "loss/g_gan": (10, adversary),
        "loss/d_real": (10, 0.5 + 0.1 * rng.standard_normal(1000)),
    }


def rewarded(rng: np.random.Generator) -> Curves:
    return {
        "loss": (1, 0.001 + 0.00006 * np.arange(1000) + 0.01 * rng.standard_normal(1000)),
        "reward": (1, np.linspace(0, 1, 1000) + 0.1 * rng.standard_normal(1000)),
    }


def half_precision(rng: np.random.Generator) -> Curves:
    scale = scaler(rng, float(rng.uniform(8, 21)))
    grads = np.exp(0.3 * rng.standard_normal(STEPS))
    grads[1:][np.diff(scale) < 0] = np.inf
    loss = power_law(STEPS) * np.exp(0.05 * rng.standard_normal(STEPS))
    return {"loss": (1, loss), "grad_norm": (1, grads), "loss_scale": (1, scale)}


def memorised(rng: np.random.Generator) -> Curves:
    t = np.arange(2000)
    return {"loss": (10, (4.5 * 2.0 ** (-t / 60) + 1e-3) * rng.lognormal(0.0, 0.4, 2000))}


def flat_metric(rng: np.random.Generator) -> Curves:
    return {"loss": (10, power_law(1000)), "val/psnr": (100, 30 + 0.1 * ar1(rng, 100, 0.5))}


def short(rng: np.random.Generator) -> Curves:
    return {
        "loss": (10, power_law(25) * np.exp(0.05 * rng.standard_normal(25))),
        "val/loss": (50, power_law(5)),
    }


HEALTHY: dict[str, Maker] = {
    "power law, independent noise": iid,
    "power law, AR(0.9) noise": remembering,
    "power law, Student t(4) noise": student,
    "lognormal 0.6 without trend": lognormal,
    "diffusion, lognormal 1.0": diffusion,
    "step decay": step_decay,
    "cosine with warm restarts": cosine_restarts,
    "warm-up and cosine, 12 evaluations": warm_up_cosine,
    "curriculum with logged difficulty": curriculum,
    "noisy fine-tuning": fine_tuning,
    "negative loss": negative,
    "running mean": running_mean,
    "adversarial": game,
    "reinforcement": rewarded,
    "half precision, GradScaler": half_precision,
    "memorised to 1e-3": memorised,
    "flat metric, AR(0.5) noise": flat_metric,
    "25 points": short,
}


# ---- faults ------------------------------------------------------------------------------------------------


def nan_at_the_end(rng: np.random.Generator) -> Curves:
    loss = iid(rng)["loss"][1].copy()
    loss[int(rng.integers(100, 990)) :] = np.nan
    return {"loss": (10, loss)}


def forward_overflow(rng: np.random.Generator) -> Curves:
    rate = float(10 ** rng.uniform(-2.5, -0.5))
    skips = (np.arange(STEPS) > 4000) & (rng.random(STEPS) < rate)
    octaves = np.maximum(17 - np.cumsum(skips), -140)
    means = (2.0**octaves).reshape(-1, 100).mean(axis=1)
    return {"loss_scale": (100, means)}


def lasting_spike(rng: np.random.Generator) -> Curves:
    loss = power_law(2000) * np.exp(0.03 * rng.standard_normal(2000))
    at = int(rng.integers(600, 1500))
    loss[at:] *= 1.0 + rng.uniform(0.6, 2.0)
    return {"loss": (10, loss)}


def slow_spike(rng: np.random.Generator) -> Curves:
    loss = power_law(2000) * np.exp(0.03 * rng.standard_normal(2000))
    at = int(rng.integers(600, 1500))
    loss[at:] *= 1.0 + 1.5 * np.exp(-np.arange(2000 - at) / 40)
    return {"loss": (10, loss)}


def exponential_divergence(rng: np.random.Generator) -> Curves:
    loss = power_law(1000) * np.exp(0.05 * rng.standard_normal(1000))
    at = int(rng.integers(400, 850))
    loss[at:] += np.minimum(8.0, 0.05 * np.exp(np.arange(1000 - at) / rng.uniform(8, 20)))
    return {"loss": (10, loss)}


def slow_divergence(rng: np.random.Generator) -> Curves:
    at = int(rng.integers(300, 600))
    climb = np.maximum(0, np.arange(1000) - at) / (1000 - at) * rng.uniform(2.0, 6.0)
    return {"loss": (10, (power_law(1000) + climb) * np.exp(0.05 * ar1(rng, 1000, 0.5)))}


def at_chance(rng: np.random.Generator) -> Curves:
    return {"loss": (10, math.log(50257) + 0.1 + 0.05 * rng.standard_normal(500)), "lr": (10, cosine(500))}


def unshuffled(rng: np.random.Generator) -> Curves:
    wave = rng.uniform(0.5, 1.0) * np.sin(2 * np.pi * np.arange(1000) / rng.uniform(40, 150))
    return {"loss": (10, power_law(1000) * np.exp(wave + 0.1 * rng.standard_normal(1000)))}


def similarity(rng: np.random.Generator) -> Curves:
    ssim = 0.35 + 0.12 * np.exp(-np.arange(400) / 80)
    return {
        "loss": (100, 0.03 + 0.05 * ssim),
        "loss/l1": (100, 0.03 + 0.002 * rng.standard_normal(400)),
        "loss/ssim": (100, 0.05 * ssim + 0.0005 * rng.standard_normal(400)),
        "val/ssim": (1000, ssim[::10] + 0.003 * rng.standard_normal(40)),
    }


def decline(rng: np.random.Generator) -> Curves:
    count = int(rng.integers(20, 80))
    t = np.linspace(0, 1, count)
    metric = 28 + 4 * np.minimum(t / 0.3, 1) - rng.uniform(1.5, 4.0) * np.maximum(0, t - 0.3)
    return {"loss": (10, power_law(1000)), "val/psnr": (STEPS // count, metric + 0.15 * ar1(rng, count, 0.3))}


def overfit(rng: np.random.Generator) -> Curves:
    count = int(rng.integers(12, 60))
    t = np.linspace(0, 1, count)
    held_out = 1.5 + 3 * np.exp(-8 * t) + rng.uniform(0.2, 1.0) * np.maximum(0, t - 0.35)
    train = 0.3 + 4 * np.exp(-np.linspace(0, 5, 1000))
    noisy = held_out * np.exp(0.01 * rng.standard_normal(count))
    return {
        "loss": (10, train * np.exp(0.05 * rng.standard_normal(1000))),
        "val/loss": (STEPS // count, noisy),
    }


def never_better(rng: np.random.Generator) -> Curves:
    fall = 20.7 - 3 * (1 - np.exp(-np.arange(25) / 8)) + 0.05 * rng.standard_normal(25)
    return {"loss": (10, power_law(1000)), "val/psnr": (400, fall)}


def schedule_restarted(rng: np.random.Generator) -> Curves:
    at = int(rng.integers(300, 700))
    lr = cosine(1000)
    return {"loss": (10, power_law(1000)), "lr": (10, np.concatenate([lr[:at], np.full(1000 - at, 1e-3)]))}


SICK: dict[str, tuple[tuple[str, ...], Maker]] = {
    "NaN for good": (("NUM101",), nan_at_the_end),
    "forward overflow, window means": (("AMP101", "AMP102"), forward_overflow),
    "spike that does not heal": (("LOS101",), lasting_spike),
    "spike that heals slowly": (("LOS101",), slow_spike),
    "exponential divergence": (("LOS102",), exponential_divergence),
    "slow divergence": (("LOS102",), slow_divergence),
    "stuck at ln 50257": (("LOS103",), at_chance),
    "unshuffled data": (("LOS104",), unshuffled),
    "similarity minimised": (("LOS105",), similarity),
    "metric declines by 1.0 to 2.8 dB": (("VAL101",), decline),
    "validation loss turns": (("VAL102",), overfit),
    "never better than step 0": (("VAL103",), never_better),
    "learning-rate schedule restarted": (("SCH101",), schedule_restarted),
}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
