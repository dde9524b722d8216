"""The task chargpt: a small GPT on lines of characters, trained as nanoGPT trains."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.chargpt.data import drawn, make
from stethoscope.clinic.faultbench.tasks.chargpt.faults import FORMS

PROJECT = Path(__file__).parent / "project"
UNSEEN = 9_000_002  # the seed of what every run is judged on
UNIGRAM = 3.56  # nats per character when nothing but their frequencies is known


def judge(weights: Path) -> float:
    """The nats per character of a checkpoint on lines that no run has seen."""
    import torch

    model = import_module("model")  # of the untouched project
    state = torch.load(weights, weights_only=False)
    # A fault may have left the weights inside a wrapper.
    kept = {name.removeprefix("module."): one for name, one in (state["ema"] or state["model"]).items()}
    gpt = model.GPT(model.GPTConfig(**state["model_args"]))
    if not torch.equal(kept["wte.weight"], kept["lm_head.weight"]):
        gpt.wte.weight = torch.nn.Parameter(kept["wte.weight"])  # a fault has parted the two
    gpt.load_state_dict(kept)
    gpt.float().eval()
    rows = torch.from_numpy(drawn(np.random.default_rng(UNSEEN), 512)["tokens"].astype(np.int64))
    targets = rows[:, 1:].masked_fill(rows[:, 1:] == 0, -1)
    with torch.no_grad():
        _, loss = gpt(rows[:, :-1], targets)
    return float(loss)


TASK = Task(
    name="chargpt",
    title="A character-level GPT",
    project=PROJECT,
    script="train.py",
    settings="config/train_chars.py",
    run="out-chars",
    metric=Metric("loss", "min", unit="nats per character", bar=UNIGRAM),
    data=make,
    judge=judge,
    steps="max_iters",
    checkpoints="ckpts/ckpt_*.pt",
    nuisances=(
        Spread("learning_rate", 1.4),
        Spread("batch_size", 1.2, whole=True),
        Spread("warmup_iters", 1.6, whole=True),
        Choice("gradient_accumulation_steps", ("1", "2", "2")),
        Choice("decay", ("'cosine'", "'cosine'", "'linear'", "'none'")),
        Choice("grad_clip", ("1.0", "1.0", "0.5")),
        Choice("weight_decay", ("0.1", "0.01", "0.0")),
        Choice("beta2", ("0.99", "0.98")),
        Choice("dropout", ("0.0", "0.0", "0.05")),
        Choice("n_head", ("4", "2")),
        Choice("bias", ("False", "True")),
        Choice("dtype", ("'float32'", "'float32'", "'bfloat16'")),
        Choice("ema_decay", ("0.0", "0.0", "0.9")),
        Choice("log_format", ("'text'", "'bar'", "'csv'", "'jsonl'", "'tensorboard'")),
        Choice("log_interval", ("1", "4", "8", "16")),
        Choice("log_lr", ("True", "True", "False")),
        Choice("log_grad_norm", ("True", "True", "False")),
        Choice("log_time", ("True", "False")),
        Choice("eval_interval", ("16", "32")),
    ),
    forms=FORMS,
)
