"""The task springs_ddp: the regression of springs, trained by two processes."""

from __future__ import annotations

from pathlib import Path

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.springs.data import make
from stethoscope.clinic.faultbench.tasks.springs.task import judge
from stethoscope.clinic.faultbench.tasks.springs_ddp.faults import FORMS

TASK = Task(
    name="springs_ddp",
    title="A residual MLP for regression, trained by two processes",
    project=Path(__file__).parent / "project",
    script="main.py",
    settings="settings.toml",
    run="outputs/springs_ddp",
    metric=Metric("error", "min", bar=1.0),
    logs="rmse",
    data=make,
    judge=judge,
    steps="fit.updates",
    processes=2,
    nuisances=(
        Spread("optimizer.learning_rate", 1.3),
        Spread("data.batch", 1.4, whole=True),
        Spread("schedule.warmup", 1.6, whole=True),
        Choice("schedule.kind", ('"cosine"', '"linear"')),
        Choice("optimizer.max_norm", ("1.0", "2.0", "0.0")),
        Choice("optimizer.weight_decay", ("0.01", "0.001")),
        Choice("optimizer.beta2", ("0.99", "0.999")),
        Choice("network.norm", ('"pre"', '"pre"', '"post"')),
        Choice("objective.kind", ('"huber"', '"mse"')),
        Choice("objective.energy_weight", ("0.1", "0.05", "0.2")),
        Choice("fit.ema", ("0.0", "0.0", "0.95")),
        Choice("fit.validate_every", ("20", "40")),
        Choice("logging.backend", ('"text"', '"bar"', '"csv"', '"jsonl"', '"tensorboard"')),
        Choice("logging.every", ("1", "5", "10")),
        Choice("logging.rate", ("true", "true", "false")),
        Choice("logging.grad_norm", ("true", "true", "false")),
        Choice("logging.parts", ("true", "true", "false")),
    ),
    forms=FORMS,
)
