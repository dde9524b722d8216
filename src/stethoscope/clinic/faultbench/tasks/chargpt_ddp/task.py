"""The task chargpt_ddp: a small GPT on lines of characters, trained by two processes."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.chargpt.data import drawn, make
from stethoscope.clinic.faultbench.tasks.chargpt_ddp.faults import FORMS

PROJECT = Path(__file__).parent / "project"
UNSEEN = 9_000_003  # the seed of what every run is judged on
UNIGRAM = 3.56  # nats per character when nothing but their frequencies is known


def judge(weights: Path) -> float:
    """The nats per character of a checkpoint on lines that no run has seen."""
    import torch

    network = import_module("minigpt.net")  # of the untouched project
    state = torch.load(weights)
    # A fault may have left the weights inside their wrapper.
    kept = {name.removeprefix("module."): one for name, one in (state["average"] or state["net"]).items()}
    net = network.MiniGPT(len(kept["embed.weight"]), **state["model"])
    net.load_state_dict(kept)
    net.float().eval()
    rows = torch.from_numpy(drawn(np.random.default_rng(UNSEEN), 512)["tokens"].astype(np.int64))
    with torch.no_grad():
        return float(network.nats(net(rows[:, :-1]), rows[:, 1:]))


TASK = Task(
    name="chargpt_ddp",
    title="A character-level GPT in two processes",
    project=PROJECT,
    script="train_ddp.py",
    settings="configs/chars.toml",
    run="results/minigpt",
    metric=Metric("loss", "min", unit="nats per character", bar=UNIGRAM),
    data=make,
    judge=judge,
    steps="train.steps",
    checkpoints="weights/step-*.ckpt",
    processes=2,
    nuisances=(
        Spread("optim.base_lr", 1.4),
        Choice("data.batch_per_rank", ("8", "10", "12")),
        Choice("data.accumulate", ("1", "1", "2")),
        Spread("optim.warmup", 1.5, whole=True),
        Choice("optim.schedule", ('"cosine"', '"linear"', '"constant"')),
        Choice("optim.clip", ("1.0", "1.0", "0.5")),
        Choice("optim.weight_decay", ("0.05", "0.01", "0.0")),
        Choice("train.precision", ('"fp32"', '"fp32"', '"bf16"')),
        Choice("train.ema", ("0.0", "0.0", "0.9")),
        Choice("train.validate_every", ("26", "13")),
        Choice("journal.kind", ('"csv"', '"jsonl"', '"tensorboard"', '"log"')),
        Choice("journal.every", ("2", "5", "10", "20")),
        Choice("journal.rate", ("true", "true", "false")),
        Choice("journal.grad_norm", ("true", "true", "false")),
        Choice("journal.rank_losses", ("false", "true")),
        Choice("journal.seconds", ("false", "true")),
    ),
    forms=FORMS,
)
