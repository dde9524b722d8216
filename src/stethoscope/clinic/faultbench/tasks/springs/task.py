"""The task springs: a residual MLP for regression, trained by a class with AdamW."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.springs.data import drawn, make
from stethoscope.clinic.faultbench.tasks.springs.faults import FORMS

PROJECT = Path(__file__).parent / "project"
UNSEEN = 9_000_002  # the seed of what every run is judged on


def judge(weights: Path) -> float:
    """The error of a checkpoint on springs that no run has seen, without noise, in units of their spread."""
    import torch

    network, dataset = import_module("springs.network"), import_module("springs.dataset")
    state = torch.load(weights)
    model = network.SpringNet(*shape(state))
    model.load_state_dict(kept_weights(state))
    model.eval()
    arrays = drawn(np.random.default_rng(UNSEEN), 2048, noise=0.0)
    with torch.no_grad():
        predicted = model(dataset.normalise(torch.from_numpy(arrays["inputs"])))
    targets = torch.from_numpy(arrays["targets"]) / dataset.SCALE
    error = (predicted - targets).square().mean(0) / targets.var(0)
    return float(error.mean().sqrt())


def shape(state: dict[str, Any]) -> tuple[int, int, str]:
    """Width, blocks and place of the norm of the network that a checkpoint holds."""
    names = kept_weights(state)
    blocks = {name.split(".")[1] for name in names if name.startswith("blocks.")}
    return names["stem.weight"].shape[0], len(blocks), state["settings"]["network"]["norm"]


def kept_weights(state: dict[str, Any]) -> dict[str, Any]:
    """The weights that a person would use, under the names of the untouched network."""
    weights = state["average"] or state["network"]
    return {name.removeprefix("module."): one for name, one in weights.items()}


TASK = Task(
    name="springs",
    title="A residual MLP for regression",
    project=PROJECT,
    script="main.py",
    settings="settings.toml",
    run="outputs/springs",
    metric=Metric("error", "min", bar=1.0),
    logs="rmse",
    data=make,
    judge=judge,
    steps="fit.updates",
    nuisances=(
        Spread("optimizer.learning_rate", 1.4),
        Spread("data.batch", 1.4, whole=True),
        Spread("schedule.warmup", 1.7, whole=True),
        Choice("schedule.kind", ('"cosine"', '"linear"')),
        Choice("optimizer.max_norm", ("1.0", "2.0", "0.0")),
        Choice("optimizer.weight_decay", ("0.01", "0.001", "0.05")),
        Choice("optimizer.beta2", ("0.99", "0.999")),
        Choice("network.norm", ('"pre"', '"pre"', '"post"')),
        Choice("objective.kind", ('"huber"', '"mse"')),
        Choice("objective.energy_weight", ("0.1", "0.05", "0.2")),
        Choice("fit.precision", ('"float32"', '"float32"', '"bfloat16"', '"float16"')),
        Choice("fit.ema", ("0.0", "0.0", "0.95", "0.98")),
        Choice("fit.validate_every", ("20", "40")),
        Choice("logging.backend", ('"text"', '"bar"', '"csv"', '"jsonl"', '"tensorboard"')),
        Choice("logging.every", ("1", "5", "10", "20")),
        Choice("logging.rate", ("true", "true", "false")),
        Choice("logging.grad_norm", ("true", "true", "false")),
        Choice("logging.parts", ("true", "true", "false")),
        Choice("logging.update_ratio", ("false", "false", "true")),
        Choice("logging.seconds", ("false", "true")),
    ),
    forms=FORMS,
)
