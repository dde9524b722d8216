"""How often Guard's judge speaks up on healthy runs, what it finds on planted faults, and what a step costs.

    python benchmarks/guard_judge.py [STEPS [SEED]]

STEPS is the number of healthy steps over all families (2,000,000 unless given), SEED the first seed (0 unless
given; the thresholds were chosen while looking at the seeds 0 to 19, so others are the fairer test). Prints
for every healthy family the warnings, wishes to rewind, wishes to stop and notes per million steps, with any
action allowed; for every fault the share of runs in which it is named, the steps until then, and what was
asked for; and the CPU time of the judge for a step with a loss, three parts, gradient, rate and scale.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from stethoscope.guard import judging
from stethoscope.guard.happening import Answer, Happening, Kind, Severity
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import Policy
from stethoscope.run import Values

POLICY = Policy(rewind=True)
RUN = 10_000  # steps of one healthy run
SICK_RUN = 3000
ONSET = 1500
SEEDS = 20

Curves = dict[str, Values]
Maker = Callable[[np.random.Generator, int], Curves]


def main(steps: int, first_seed: int) -> None:
    """Print the tables."""
    runs = max(1, steps // (RUN * len(HEALTHY)))
    print(f"Healthy: {runs} runs of {RUN:,} steps of each family; per million steps\n")
    heads = "".join(f"{head:>9}" for head in ("warnings", "rewinds", "stops", "notes", "us/step"))
    print(f"  {'family':<36}{heads}  kinds of warnings")
    totals: Counter[str] = Counter()
    for name, make in HEALTHY.items():
        totals += _healthy_row(name, make, range(first_seed, first_seed + runs))
    million = len(HEALTHY) * runs * RUN / 1e6
    said = ", ".join(f"{totals[key]} {key}" for key in ("warnings", "rewinds", "stops"))
    print(
        f"\n  all {million:.2f} million steps: {said}; {totals['warnings'] / million:.1f} warnings a million"
    )
    print(f"\nPlanted at step {ONSET:,}: {SEEDS} runs of each\n")
    print(f"  {'fault':<36}{'named':>7}{'after':>8}  asked")
    for name, (kinds, make_sick) in SICK.items():
        _sick_row(name, kinds, make_sick, range(first_seed, first_seed + SEEDS))
    print(f"\nA step with loss, 3 parts, gradient, rate and scale: {cost():.1f} us of CPU time")


def _healthy_row(name: str, make: Maker, seeds: range) -> Counter[str]:
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    judged = 0.0
    for seed in seeds:
        rows = list(observations(make(np.random.default_rng(seed), RUN)))
        begun = time.process_time()
        for one in judge(rows):
            counts["notes"] += one.severity is Severity.NOTE
            counts["warnings"] += one.severity is not Severity.NOTE
            counts["rewinds"] += one.answer is Answer.REWIND
            counts["stops"] += one.answer is Answer.STOP
            if one.severity is not Severity.NOTE:
                kinds[one.kind.value] += 1
        judged += time.process_time() - begun
    million = len(seeds) * RUN / 1e6
    cells = [counts[key] / million for key in ("warnings", "rewinds", "stops", "notes")]
    cells.append(judged / million)
    said = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    print(f"  {name:<36}{''.join(f'{cell:>9.1f}' for cell in cells)}  {said or '-'}", flush=True)
    return counts


def _sick_row(name: str, kinds: tuple[Kind, ...], make: Maker, seeds: range) -> None:
    delays, asked, named = [], Counter[str](), 0
    for seed in seeds:
        told = judge(observations(make(np.random.default_rng(seed), SICK_RUN)))
        meant = [one for one in told if one.kind in kinds and one.severity is not Severity.NOTE]
        named += bool(meant)
        delays += [meant[0].step - ONSET] if meant else []
        answers = {one.answer.value for one in told if one.answer is not Answer.NONE}
        asked[", ".join(sorted(answers)) or "nothing"] += 1
    after = f"{np.median(delays):.0f}" if delays else "-"
    said = ", ".join(f"{answer} {count}" for answer, count in asked.most_common())
    print(f"  {name:<36}{named / SEEDS:>7.0%}{after:>8}  {said}")


def observations(curves: Curves) -> Iterator[Observation]:
    """The steps of a run with these curves."""
    names = list(curves)
    columns = [curves[name].tolist() for name in names]
    for step, row in enumerate(zip(*columns, strict=True)):
        yield Observation(step, float(step), dict(zip(names, row, strict=True)))


def judge(steps: Iterator[Observation] | list[Observation]) -> list[Happening]:
    """All that happened in a run, with every action allowed and none done."""
    state, told = judging.begin(POLICY), []
    for seen in steps:
        state, happened = judging.update(state, seen, POLICY)
        told += happened
    return told


def cost() -> float:
    """Microseconds of CPU time per step of an ordinary run."""
    rng = np.random.default_rng(0)
    count = 50_000
    loss = power_law(count) * np.exp(0.05 * rng.standard_normal(count))
    curves = gradients(rng, {"loss": loss, "lr": cosine(count), "loss_scale": sawtooth(rng, count)})
    curves |= {f"loss/{term}": loss / 3.0 for term in ("l1", "ssim", "fft")}
    curves |= {"input": np.zeros(count), "skipped": np.zeros(count)}
    rows = list(observations(curves))
    best = math.inf
    for _ in range(3):
        begun = time.process_time()
        judge(rows)
        best = min(best, time.process_time() - begun)
    return best / count * 1e6


# ---- the parts curves are made of ------------------------------------------------------------------------


def power_law(count: int, floor: float = 2.0, gain: float = 9.0, exponent: float = 0.5) -> Values:
    return np.asarray(floor + gain * (1.0 + np.arange(count) / 20.0) ** -exponent, dtype=np.float64)


def cosine(count: int, peak: float = 1e-3, warm_up: float = 0.05) -> Values:
    t = np.arange(count) / count
    decay = 0.5 * (1 + np.cos(np.pi * np.clip((t - warm_up) / (1 - warm_up), 0, 1)))
    return np.asarray(peak * np.where(t < warm_up, t / warm_up, decay), dtype=np.float64)


def ar1(rng: np.random.Generator, count: int, rho: float) -> Values:
    shocks = rng.standard_normal(count) * math.sqrt(1 - rho * rho)
    values = np.empty(count)
    last = rng.standard_normal()
    for t, shock in enumerate(shocks.tolist()):
        last = rho * last + shock
        values[t] = last
    return values


def gradients(rng: np.random.Generator, curves: Curves, spread: float = 0.3) -> Curves:
    count = len(curves["loss"])
    curves.setdefault("lr", np.full(count, 1e-3))
    return {**curves, "grad_norm": np.exp(spread * rng.standard_normal(count)), "skipped": np.zeros(count)}


def sawtooth(rng: np.random.Generator, count: int, ceiling: float = 14.0, interval: int = 2000) -> Values:
    octave, clean, path = 16, 0, []
    for limit in (ceiling + 0.7 * rng.standard_normal(count)).tolist():
        path.append(2.0**octave)
        if octave > limit:
            octave, clean = octave - 1, 0
        elif (clean := clean + 1) == interval:
            octave, clean = octave + 1, 0
    return np.array(path)


def scaled(rng: np.random.Generator, curves: Curves, scale: Values) -> Curves:
    """Beside a scale: its falls are skipped steps with infinite gradients."""
    curves = gradients(rng, curves)
    skips = np.append(np.diff(scale) < 0, False)
    return {
        **curves,
        "loss_scale": scale,
        "grad_norm": np.where(skips, np.inf, curves["grad_norm"]),
        "skipped": skips.astype(np.float64),
    }


# ---- healthy families --------------------------------------------------------------------------------------


def independent(rng: np.random.Generator, n: int) -> Curves:
    return gradients(rng, {"loss": power_law(n) * np.exp(0.05 * rng.standard_normal(n)), "lr": cosine(n)})


def remembering(rng: np.random.Generator, n: int) -> Curves:
    return gradients(rng, {"loss": power_law(n) * np.exp(0.05 * ar1(rng, n, 0.9))})


def long_memory(rng: np.random.Generator, n: int) -> Curves:
    return gradients(rng, {"loss": power_law(n) * np.exp(0.1 * ar1(rng, n, 0.99))})


def student(rng: np.random.Generator, n: int) -> Curves:
    return gradients(rng, {"loss": np.maximum(power_law(n) * (1 + 0.05 * rng.standard_t(4, n)), 0.01)}, 0.5)


def diffusion(rng: np.random.Generator, n: int) -> Curves:
    return gradients(rng, {"loss": (0.02 + 0.03 * power_law(n)) * rng.lognormal(0.0, 0.25, n)}, 0.4)


def wide_diffusion(rng: np.random.Generator, n: int) -> Curves:
    return gradients(rng, {"loss": (0.02 + 0.03 * power_law(n)) * rng.lognormal(0.0, 1.0, n)}, 0.8)


def rare_batches(rng: np.random.Generator, n: int) -> Curves:
    high = rng.random(n) < 2e-3
    loss = power_law(n) * np.exp(0.05 * rng.standard_normal(n)) * np.where(high, rng.uniform(2, 20, n), 1.0)
    curves = gradients(rng, {"loss": loss})
    return {**curves, "grad_norm": curves["grad_norm"] * np.where(high, 30.0, 1.0)}


def recovering_spikes(rng: np.random.Generator, n: int) -> Curves:
    loss = power_law(n) * np.exp(0.03 * rng.standard_normal(n))
    for at in rng.integers(500, n - 200, 2).tolist():
        loss[at : at + 200] *= 1.0 + rng.uniform(0.5, 2.0) * np.exp(-np.arange(200) / 4.0)
    return gradients(rng, {"loss": loss})


def game(rng: np.random.Generator, n: int) -> Curves:
    climb = rng.uniform(1.0, 3.0) * (1 - np.exp(-np.arange(n) / 2000.0))
    adversary = np.abs(0.7 + climb + 0.3 * ar1(rng, n, 0.95)) * rng.lognormal(0.0, 0.2, n)
    pixels = 0.03 * rng.lognormal(0.0, 0.3, n)
    parts = {"loss/pix": pixels, "loss/g_gan": adversary}
    return gradients(rng, {"loss": pixels + adversary, **parts}, 0.6)


def unnamed_game(rng: np.random.Generator, n: int) -> Curves:
    return gradients(rng, {"loss": game(rng, n)["loss"]}, 0.6)


def restarts(rng: np.random.Generator, n: int) -> Curves:
    lr = 0.5e-3 * (1 + np.cos(np.pi * (np.arange(n) % 2500) / 2500))
    bump = 1 + rng.uniform(0.2, 0.8) * lr / 1e-3
    loss = power_law(n) * bump * np.exp(0.03 * rng.standard_normal(n))
    return gradients(rng, {"loss": loss, "lr": lr})


def triangles(rng: np.random.Generator, n: int) -> Curves:
    lr = 1e-4 + 9e-4 * np.abs((np.arange(n) % 2000) / 1000.0 - 1.0)
    bump = 1 + rng.uniform(0.1, 0.6) * lr / 1e-3
    return gradients(rng, {"loss": power_law(n) * bump * np.exp(0.05 * rng.standard_normal(n)), "lr": lr})


def step_decay(rng: np.random.Generator, n: int) -> Curves:
    t = np.arange(n)
    level = power_law(n, floor=1.0) * np.where(t < n // 2, 1.0, 0.7)
    lr = np.where(t < n // 2, 1e-2, 1e-3)
    return gradients(rng, {"loss": level * np.exp(0.03 * rng.standard_normal(n)), "lr": lr})


def warm_up(rng: np.random.Generator, n: int) -> Curves:
    t = np.arange(n)
    bump = 1.0 + 0.3 * np.exp(-(((t - 600.0) / 250.0) ** 2))  # many losses rise a little while the rate does
    loss = power_law(n) * bump * np.exp(0.04 * rng.standard_normal(n))
    return gradients(rng, {"loss": loss, "lr": cosine(n, warm_up=0.1)})


def curriculum(rng: np.random.Generator, n: int) -> Curves:
    t = np.arange(n)
    harder = 1.0 + 0.3 * np.clip((t - 2000.0) / 5000.0, 0.0, 1.0)
    return gradients(rng, {"loss": power_law(n) * harder * np.exp(0.05 * rng.standard_normal(n))})


def resumed(rng: np.random.Generator, n: int) -> Curves:
    loss = np.roll(power_law(n + 3000)[3000:], 0) * np.exp(0.05 * rng.standard_normal(n))
    lr = 3e-4 * np.minimum(1.0, np.arange(n) / 200.0)
    return gradients(rng, {"loss": loss, "lr": lr})


def fine_tuning(rng: np.random.Generator, n: int) -> Curves:
    loss = 1.9 - 0.1 * np.arange(n) / n + 0.25 * rng.standard_normal(n)
    return gradients(rng, {"loss": loss, "lr": cosine(n, 1e-5)})


def converged(rng: np.random.Generator, n: int) -> Curves:
    falls = 2.3 * 2.0 ** (-np.arange(n) / 150.0) + 1e-6
    return gradients(rng, {"loss": falls * rng.lognormal(0.0, 1.0, n)}, 1.0)


def interpolating(rng: np.random.Generator, n: int) -> Curves:
    curves = converged(rng, n)
    high = rng.random(n) < 1e-3
    return {**curves, "loss": curves["loss"] + np.where(high, 0.02 * rng.random(n), 0.0)}


def negative(rng: np.random.Generator, n: int) -> Curves:
    return gradients(rng, {"loss": -0.95 + 0.1 * power_law(n, 0.0, 12.0) + 0.03 * rng.standard_normal(n)})


def likelihood(rng: np.random.Generator, n: int) -> Curves:
    return gradients(rng, {"loss": -800.0 + 100.0 * power_law(n) + 30.0 * rng.standard_normal(n)})


def around_zero(rng: np.random.Generator, n: int) -> Curves:
    return gradients(rng, {"loss": 0.02 * rng.standard_normal(n) + 0.001 * np.sin(np.arange(n) / 500.0)})


def sometimes_zero(rng: np.random.Generator, n: int) -> Curves:
    loss = power_law(n) * np.exp(0.2 * rng.standard_normal(n))
    return gradients(rng, {"loss": np.where(rng.random(n) < 0.01, 0.0, loss)})


def changing_noise(rng: np.random.Generator, n: int) -> Curves:
    widths = np.repeat(np.exp(rng.uniform(math.log(0.02), math.log(0.2), n // 200)), 200)
    return gradients(rng, {"loss": power_law(n) * np.exp(widths * rng.standard_normal(n))})


def small_batches(rng: np.random.Generator, n: int) -> Curves:
    return gradients(rng, {"loss": power_law(n, 0.05, 0.7) * rng.gamma(0.8, 1.0 / 0.8, n)}, 0.9)


def epochs(rng: np.random.Generator, n: int) -> Curves:
    stairs = np.exp(-0.15 * (np.arange(n) // 1000))
    within = (
        1.0 + 0.05 * (np.arange(n) % 1000) / 1000.0
    )  # each epoch begins with what was just learned by heart
    return gradients(rng, {"loss": 2.0 * stairs * within * np.exp(0.04 * rng.standard_normal(n))})


def half_precision(rng: np.random.Generator, n: int) -> Curves:
    loss = power_law(n) * np.exp(0.05 * rng.standard_normal(n))
    return scaled(rng, {"loss": loss}, sawtooth(rng, n, float(rng.uniform(5, 24))))


def eager_scaler(rng: np.random.Generator, n: int) -> Curves:
    loss = power_law(n) * np.exp(0.05 * rng.standard_normal(n))
    return scaled(rng, {"loss": loss}, sawtooth(rng, n, float(rng.uniform(8, 16)), 50))


def high_scale(rng: np.random.Generator, n: int) -> Curves:
    loss = power_law(n) * np.exp(0.05 * rng.standard_normal(n))
    return scaled(rng, {"loss": loss}, 2.0 ** np.maximum(32 - np.arange(n), 9.0))


HEALTHY: dict[str, Maker] = {
    "independent noise": independent,
    "AR(0.9) noise": remembering,
    "AR(0.99) noise of 10 %": long_memory,
    "Student t(4) noise": student,
    "diffusion, lognormal 0.25": diffusion,
    "diffusion, lognormal 1.0": wide_diffusion,
    "rare batches, up to x20": rare_batches,
    "spikes that recover in ~10 steps": recovering_spikes,
    "adversarial, parts named": game,
    "adversarial, total only": unnamed_game,
    "cosine with warm restarts": restarts,
    "triangular learning rate": triangles,
    "step decay": step_decay,
    "bump during the warm-up": warm_up,
    "curriculum, +30 %": curriculum,
    "resumed with a new warm-up": resumed,
    "noisy fine-tuning": fine_tuning,
    "converged to 1e-6": converged,
    "converged, rare errors of 0.02": interpolating,
    "negative, crossing zero": negative,
    "likelihood, -600": likelihood,
    "around zero": around_zero,
    "exactly zero now and then": sometimes_zero,
    "noise of changing width": changing_noise,
    "small batches, gamma 0.8": small_batches,
    "epochs": epochs,
    "GradScaler sawtooth": half_precision,
    "GradScaler, interval 50": eager_scaler,
    "GradScaler from 2^32": high_scale,
}


# ---- faults ------------------------------------------------------------------------------------------------


def _planted(rng: np.random.Generator, n: int) -> tuple[Curves, Values]:
    curves = gradients(rng, {"loss": power_law(n) * np.exp(0.05 * rng.standard_normal(n))})
    return curves, np.arange(n) - float(ONSET)


def nan_once(rng: np.random.Generator, n: int) -> Curves:
    curves, since = _planted(rng, n)
    bad = np.where(since == 0, np.nan, 0.0)
    return {**{name: values + bad for name, values in curves.items() if name != "lr"}, "lr": curves["lr"]}


def nan_for_good(rng: np.random.Generator, n: int) -> Curves:
    curves, since = _planted(rng, n)
    bad = np.where(since >= 0, np.nan, 0.0)
    return {
        **curves,
        "loss": curves["loss"] + bad,
        "grad_norm": curves["grad_norm"] + bad,
        "skipped": (since >= 0).astype(np.float64),
    }


def nan_often(rng: np.random.Generator, n: int) -> Curves:
    curves, since = _planted(rng, n)
    hit = (since >= 0) & (rng.random(n) < 0.03)
    bad = np.where(hit, np.inf, 0.0)
    return {**curves, "loss/fft": 0.1 + bad, "loss": curves["loss"] + bad, "skipped": hit.astype(np.float64)}


def lasting(rng: np.random.Generator, n: int) -> Curves:
    curves, since = _planted(rng, n)
    peak = rng.uniform(5, 50) * np.exp(-np.maximum(since, 0.0) / 3.0) + rng.uniform(1.6, 3.0)
    grads = np.where((since >= 0) & (since < 4), 50.0, 1.0) * curves["grad_norm"]
    return {**curves, "loss": curves["loss"] * np.where(since >= 0, peak, 1.0), "grad_norm": grads}


def exponential(rng: np.random.Generator, n: int) -> Curves:
    curves, since = _planted(rng, n)
    climb = np.where(
        since >= 0, np.minimum(8.0, 0.02 * np.exp(np.clip(since, 0, 500) / rng.uniform(8, 40))), 0.0
    )
    return {**curves, "loss": curves["loss"] + climb}


def steady_climb(rng: np.random.Generator, n: int) -> Curves:
    curves, since = _planted(rng, n)
    climb = np.clip(since / 300.0, 0.0, 1.0) * rng.uniform(5.0, 15.0)
    return {**curves, "loss": curves["loss"] * np.exp(0.1 * rng.standard_normal(n)) + climb}


def rate_x300(rng: np.random.Generator, n: int) -> Curves:
    curves, since = _planted(rng, n)
    lr = np.where((since >= 0) & (since < 20), 0.3, 1e-3)
    loss = np.where(since > 0, rng.uniform(6.0, 30.0) * np.exp(0.2 * rng.standard_normal(n)), curves["loss"])
    return {**curves, "lr": lr, "loss": loss}


def other_labels(rng: np.random.Generator, n: int) -> Curves:
    curves, since = _planted(rng, n)
    factor = np.where(since >= 0, 1.0 + rng.uniform(0.5, 2.0), 1.0)
    return {**curves, "loss": curves["loss"] * factor}


def forward_overflow(rng: np.random.Generator, n: int) -> Curves:
    curves, since = _planted(rng, n)
    rate = 10 ** rng.uniform(-2, -0.5)
    falls = (since >= 0) & (rng.random(n) < rate)
    octaves = np.maximum(17 - np.concatenate(([0], np.cumsum(falls)[:-1])), 0)
    return scaled(rng, {"loss": curves["loss"]}, 2.0**octaves)


def rate_zero(rng: np.random.Generator, n: int) -> Curves:
    curves, since = _planted(rng, n)
    return {**curves, "lr": np.where(since >= 0, 0.0, 1e-3)}


SICK: dict[str, tuple[tuple[Kind, ...], Maker]] = {
    "one NaN": ((Kind.NON_FINITE_LOSS,), nan_once),
    "NaN for good": ((Kind.SKIP_BUDGET, Kind.NON_FINITE_LOSS), nan_for_good),
    "an infinite part in 3 % of steps": ((Kind.NON_FINITE_LOSS,), nan_often),
    "a spike that lasts": ((Kind.LASTING_SPIKE,), lasting),
    "exponential divergence": ((Kind.LASTING_SPIKE, Kind.DIVERGENCE), exponential),
    "climb over 300 steps, more noise": ((Kind.LASTING_SPIKE, Kind.DIVERGENCE), steady_climb),
    "learning rate x300 for 20 steps": ((Kind.LASTING_SPIKE, Kind.DIVERGENCE), rate_x300),
    "other labels": ((Kind.LEVEL_SHIFT,), other_labels),
    "forward overflow": ((Kind.SCALE_FALLING, Kind.SCALE_AT_FLOOR), forward_overflow),
    "learning rate 0": ((Kind.LEARNING_RATE_ZERO,), rate_zero),
}


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:3]]
    main(*given, *(2_000_000, 0)[len(given) :])
