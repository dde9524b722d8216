"""The task translator: an encoder-decoder that writes down spoken dates, trained with a teacher."""

from __future__ import annotations

from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.translator.data import drawn, make
from stethoscope.clinic.faultbench.tasks.translator.faults import FORMS

PROJECT = Path(__file__).parent / "project"
UNSEEN = 9_000_003  # the seed of what every run is judged on


def judge(weights: Path) -> float:
    """The share of dates, none of which a run has seen, that a snapshot writes without a mistake."""
    import torch

    layers, recipe = layers_of(weights), import_module("kalends.recipe")
    speaking = import_module("kalends.speaking")  # of the untouched project
    state = torch.load(weights)
    net = layers.Translator(recipe.Model(**state["model"]))
    net.load_state_dict(kept_weights(state))
    net.eval()
    dates = drawn(np.random.default_rng(UNSEEN), 320)
    said = speaking.greedy(net, torch.from_numpy(dates["source"]), dates["target"].shape[1])
    return float(speaking.agree(said, torch.from_numpy(dates["target"])).float().mean())


def layers_of(weights: Path) -> ModuleType:
    """The network that the weights were trained in: in another one they would be worth nothing."""
    file = weights.parents[3] / "kalends" / "layers.py"
    spec = spec_from_file_location("layers_of_the_run", file)
    if spec is None or spec.loader is None or not file.exists():
        return import_module("kalends.layers")
    layers = module_from_spec(spec)
    spec.loader.exec_module(layers)
    return layers


def kept_weights(state: dict[str, Any]) -> dict[str, Any]:
    """The weights that a person would use, under the names of the untouched network."""
    kept = state["shadow"] or state["net"]
    return {name: weight.float() for name, weight in kept.items()}


TASK = Task(
    name="translator",
    title="An encoder-decoder that writes down spoken dates",
    project=PROJECT,
    script="cli.py",
    settings="recipes/dates.toml",
    run="runs/dates",
    metric=Metric("exact", "max"),
    data=make,
    judge=judge,
    steps="run.updates",
    checkpoints="snapshots/*.pt",
    arguments=("fit",),
    nuisances=(
        Spread("optim.lr", 1.35),
        Spread("corpus.pairs_per_batch", 1.2, whole=True),
        Spread("anneal.warmup", 1.5, whole=True),
        Choice("anneal.shape", ('"cosine"', '"cosine"', '"noam"')),
        Choice("optim.max_grad_norm", ("1.0", "1.0", "2.0", "0")),
        Choice("optim.decay", ("0.01", "0.0", "0.05")),
        Choice("optim.beta2", ("0.98", "0.99", "0.999")),
        Choice("model.norm", ('"before"', '"before"', '"after"')),
        Choice("model.heads", ("4", "2")),
        Choice("model.dropout", ("0.0", "0.0", "0.02")),
        Choice("criterion.smoothing", ("0.05", "0.0", "0.1")),
        Choice("criterion.manner", ("0.1", "0.2")),
        Choice("run.micro_batches", ("1", "1", "2")),
        Choice("run.numerics", ('"fp32"', '"fp32"', '"bf16"')),
        Choice("run.shadow", ("0.0", "0.0", "0.9", "0.95")),
        Choice("run.validate_each", ("20", "30")),
        Choice("journal.sink", ('"lines"', '"meter"', '"table"', '"records"', '"board"')),
        Choice("journal.each", ("1", "5", "10", "20")),
        Choice("journal.lr", ("true", "true", "false")),
        Choice("journal.gradient", ("true", "true", "false")),
        Choice("journal.terms", ("true", "false")),
        Choice("journal.speed", ("false", "true")),
    ),
    forms=FORMS,
)
