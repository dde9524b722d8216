"""The task masked: absorbing diffusion of residues whose noise grows over the run."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.masked.data import RESIDUES, drawn, make
from stethoscope.clinic.faultbench.tasks.masked.faults import FORMS

PROJECT = Path(__file__).parent / "project"
UNSEEN = 9_000_002  # the seed of what every run is judged on
LEVELS = (0.2, 0.5, 0.8, 0.95)


def judge(weights: Path) -> float:
    """The nats per masked residue of a checkpoint, on proteins that no run has seen."""
    import torch

    network = import_module("inverse_folding.network")  # of the untouched project
    diffusion = import_module("inverse_folding.diffusion")
    state = torch.load(weights)
    # A fault may have put a softmax behind the head, which makes it a part of a sequence.
    told = state["average"] or state["network"]
    kept = {name.replace("to_residue.0.", "to_residue."): one for name, one in told.items()}
    depth = 1 + max(int(name.split(".")[1]) for name in kept if name.startswith("blocks."))
    model = network.SequenceDenoiser(
        kept["norm.weight"].shape[0], depth, norm_first=state["config"]["network"]["norm_first"]
    )
    model.load_state_dict(kept)
    model.eval()
    arrays = drawn(np.random.default_rng(UNSEEN), 512)
    tokens = torch.from_numpy(arrays["tokens"]).long()
    real = torch.arange(tokens.shape[1]) < torch.from_numpy(arrays["length"])[:, None]
    exposure = (torch.from_numpy(arrays["exposure"]) - 50.0) / 30.0
    generator = torch.Generator().manual_seed(UNSEEN)
    noise, nats, count = diffusion.AbsorbingNoise(), 0.0, 0
    with torch.no_grad():
        for share in LEVELS:
            level = torch.full((len(tokens),), share)
            noisy, masked = noise.corrupt(tokens, real, level, generator)
            logits, _ = model(noisy, level, exposure, real)
            nats += float(diffusion.nats_of(logits, tokens)[masked].sum())
            count += int(masked.sum())
    return min(nats / count, 9.0)


TASK = Task(
    name="masked",
    title="Masked diffusion of protein sequences with a curriculum",
    project=PROJECT,
    script="run.py",
    settings="experiment.yaml",
    run="outputs/absorbing",
    metric=Metric("nats per masked residue", "min", bar=float(np.log(RESIDUES))),
    logs="accuracy",
    data=make,
    judge=judge,
    steps="trainer.max_steps",
    nuisances=(
        Spread("optim.peak_lr", 1.4),
        Spread("data.batch_size", 1.25, whole=True),
        Spread("optim.warmup_steps", 1.7, whole=True),
        Choice("optim.schedule", ("cosine", "cosine", "linear")),
        Choice("optim.grad_clip", ("0.0", "1.0", "2.0")),
        Choice("optim.weight_decay", ("0.01", "0.05", "0.0")),
        Choice("optim.beta2", ("0.98", "0.99", "0.999")),
        Choice("trainer.precision", ("fp32", "fp32", "bf16")),
        Choice("trainer.ema_decay", ("0.0", "0.0", "0.95")),
        Choice("trainer.accumulate", ("1", "1", "2")),
        Choice("curriculum.shape", ("linear", "cosine", "exponential")),
        Spread("curriculum.start", 1.5),
        Spread("curriculum.ramp", 1.4),
        Choice("logging.format", ("csv", "jsonl", "tensorboard", "text", "bar")),
        Choice("logging.every_n_steps", ("1", "5", "10", "20")),
        Choice("logging.learning_rate", ("true", "true", "false")),
        Choice("logging.grad_norm", ("true", "true", "false")),
        Choice("logging.difficulty", ("true", "true", "false")),
        Choice("logging.loss_parts", ("true", "false")),
        Choice("logging.step_time", ("true", "false")),
        Choice("validation.every_n_steps", ("20", "30")),
    ),
    forms=FORMS,
)
