"""JSON files that are settings by what they hold: several names that only trainings have, and no results.

`ecg.json`, `base.json`: a name says nothing, and JSON holds anything. A person who writes settings writes a
rate, a batch size and a number of epochs; a program that writes results writes scores beside them.
"""

from __future__ import annotations

import json
import re

from stethoscope.errors import UnreadableFile
from stethoscope.recipe._files import text_of
from stethoscope.run.folder import Entry

LONGEST = 64_000  # bytes; data with such names is longer
FEWEST = 3
TRAINING = frozenset({
    "lr", "learning_rate", "base_lr", "min_lr", "batch_size", "train_batch_size", "epochs", "num_epochs",
    "n_epochs", "max_epochs", "max_steps", "num_steps", "total_steps", "total_iter", "warmup", "warmup_steps",
    "warmup_epochs", "weight_decay", "momentum", "optimizer", "scheduler", "grad_clip", "max_norm",
    "num_workers", "ema_decay", "dropout", "accumulation_steps", "gradient_accumulation_steps",
    "wd", "updates", "beta1", "beta2", "betas", "clip", "accum", "bs", "iterations",
})  # fmt: skip
# Parts of names that speak of a training whatever stands beside them: `lr_g`, `batch`, `iters`.
PARTS = frozenset({"lr", "batch", "iters", "epochs", "seed"})
RESULT = re.compile(
    r"(?:^|_)(?:acc|accuracy|auc|f1|psnr|ssim|miou|score|scores|losses|best|elapsed|time|timestamp|step|epoch)(?:_|$)"
    r"|^(?:train|val|valid|test)_loss$",
    re.IGNORECASE,
)
MEASURED = re.compile(r"\d{3}|/")  # in a date, a time or the path of a checkpoint


def holds_training(entry: Entry) -> bool:
    """Whether a JSON file holds settings of a training."""
    if entry.size > LONGEST:
        return False
    try:
        held = json.loads(text_of(entry.path, entry.file))
    except (UnreadableFile, ValueError, RecursionError):
        return False
    if not isinstance(held, dict):
        return False
    sections = [held, *(section for section in held.values() if isinstance(section, dict))]
    entries = [entry for section in sections for entry in section.items()]
    names = {name for name, _ in entries}
    speaking = {name for name in names if name in TRAINING or PARTS.intersection(name.lower().split("_"))}
    return len(speaking) >= FEWEST and not any(_is_result(*entry) for entry in entries)


def _is_result(name: str, value: object) -> bool:
    """Whether an entry tells how a run went: `load_best_model_at_end` only switches something on."""
    if isinstance(value, bool) or (isinstance(value, str) and not MEASURED.search(value)):
        return False
    return RESULT.search(name) is not None
