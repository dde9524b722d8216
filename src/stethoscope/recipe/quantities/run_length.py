"""How long the training goes on.

total_iter: 40000      max_steps      num_train_epochs: 3      n_iters      max_iters      trainer.max_epochs
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("length of the run", 5)

_STEPS = re.compile(
    r"(?:total|max|num|n|nb|num_training|max_train|num_train|train|training|total_train|total_training|max_training)"
    r"_(?:iters?|iterations?|steps|updates?|its)|niters?|iterations|max_update|train_iters|num_its"
)
_EPOCHS = re.compile(
    r"(?:total_|max_|num_|n_|nb_|num_train_|max_train_|train_|training_)?(?:epochs?)|nepochs?|num_train_epochs"
)
_SAMPLES = re.compile(r"(?:total_)?(?:kimg|train_samples|training_samples)")
_TRAINING = frozenset(
    {
        "train",
        "training",
        "trainer",
        "run",
        "hyperparameters",
        "hparams",
        "args",
        "solver",
        "schedule",
        "loop",
        "cfg",
        "fit",
    }
)
_OF_TRAINING = frozenset({"steps", "iters", "updates", "max_duration"})  # what says it only in such a section
# A number of steps of something else: of a sampler, a schedule, a diffusion, an environment.
_ELSEWHERE = frozenset(
    {
        *("scheduler", "sched", "noise", "diffusion", "model", "warmup", "ema", "curriculum", "lr", "loss"),
        *("network", "data", "dataset", "datasets", "env", "environment", "policy", "tokenizer", "optimizer"),
        *("optim", "profiler", "logger", "lrate", "denoise", "denoiser", "flow", "unet"),
    }
)


def read(spelling: Spelling) -> Amount | None:
    """A positive number of steps or epochs of the training itself."""
    length = spelling.length
    if length is None or length[0] <= 0 or not spelling.is_for_training or spelling.around & _ELSEWHERE:
        return None
    if spelling.says("per", "every", "save", "log", "start", "last", "current", "warmup"):
        return None
    if _EPOCHS.fullmatch(spelling.leaf) and spelling.leaf != "epoch":
        return Amount(length[0], "epoch")
    if _SAMPLES.fullmatch(spelling.leaf):
        return Amount(length[0] * (1000 if "kimg" in spelling.leaf else 1), "sample")
    in_training = bool(spelling.around & _TRAINING) and spelling.leaf in _OF_TRAINING
    if spelling.leaf == "max_duration":
        return Amount(length[0], length[1]) if length[1] else None
    return Amount(length[0], "step") if in_training or _STEPS.fullmatch(spelling.leaf) else None
