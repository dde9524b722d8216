"""Which names say what they hold, by a word that facts know."""

from __future__ import annotations

import re

from stethoscope.program.likenesses import APART, JUDGED, LIKENESS_WORDS, TOGETHER, words

# Words by which facts tell one value from another where the value itself cannot: a name with one stays.
# fmt: off
_TELLING = frozenset({
    # what is compared, and on which side
    "loss", "losses", "objective", "cost", "error", "err", "criterion", "penalty", "kl", "nll", "ce",
    "mse", "recon", "target", "targets", "label", "labels", "gt", "truth", "answer", "answers", "goal",
    "reference", "ref", "teacher", "pred", "preds", "prediction", "predictions", "guess", "logits",
    "prob", "probs", "output", "outputs", "out", "noise", "noisy", "eps", "epsilon", "clean", "velocity",
    "denoised", "flow", "mask", "pad", "padding", "positive", "negative",
    # what is measured
    "acc", "accuracy", "score", "scores", "metric", "metrics", "best", "psnr", "total", "correct", "hits",
    # which data
    "train", "training", "val", "valid", "validation", "test", "dev", "eval", "held", "data", "dataset",
    "loader", "features", "inputs", "images", "frame", "df", "xyxy", "xywh", "cxcywh", "boxes",
    # what a program is made of
    "model", "net", "network", "optimizer", "optim", "opt", "scheduler", "schedule", "scaler", "state",
    "checkpoint", "config", "cfg", "conf", "args", "options", "opts", "settings", "params", "defaults",
    "given", "trainer", "module",
    # how long and how much
    "epoch", "epochs", "step", "steps", "lr", "rate", "decay", "momentum", "warmup", "weight", "weights",
    "seed", "rank", "mean", "std", "mu", "logvar", "scale", "temperature",
    # how noisy a sample is
    "level", "levels", "sigma", "sigmas", "time", "times", "timestep", "timesteps", "tau",
    # what an episode gives
    "reward", "rewards", "done", "dones", "delta", "return", "returns", "advantage", "advantages",
    "value", "values",
}) | frozenset(LIKENESS_WORDS)
# fmt: on
# Clean data, its noise, a preconditioner's coefficients, and the step of a diffusion.
_STANDARD = re.compile(r"_*(?:[xz]_?[01]|c_(?:in|out|skip|noise)|ts?)_*")


def tells(name: str) -> bool:
    """Whether a name is evidence of what it holds."""
    patterns = (APART.search, TOGETHER.search, JUDGED.search, _STANDARD.fullmatch)
    return not _TELLING.isdisjoint(words(name)) or any(matches(name) for matches in patterns)
