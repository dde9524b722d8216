"""What the words of a key say about its place in a training, beyond the quantities that have a name."""

from __future__ import annotations

import re

from stethoscope.run import Key

_ADAPTIVE = frozenset(
    {
        *("dynamic", "adaptive", "auto", "automatic", "balancing", "balancer", "uncertainty"),
        *("gradnorm", "relobralo", "softadapt"),
    }
)
_WEIGHTS = frozenset({"loss", "losses", "weights", "weighting", "weight"})
_MEASURING = frozenset(
    {
        *("val", "valid", "validation", "eval", "evaluation", "test", "testing", "metrics"),
        *("metric",),
    }
)
# What may be changed about a measurement without changing what it measures.
_CADENCE = frozenset(
    {
        *("freq", "frequency", "every", "interval", "steps", "epochs", "enabled", "save", "img"),
        *("images", "pbar", "suffix", "workers", "num_workers", "batch", "batches", "size"),
        *("strategy", "wandb", "print", "log", "name", "monitor", "dataloader", "samples_per_gpu"),
        *("accumulation",),
    }
)
_SHAPE = frozenset(
    {
        *("crop", "border", "size", "resize", "scale", "image", "height", "width", "resolution"),
        *("patch", "tile"),
    }
)


def words_of(key: Key) -> frozenset[str]:
    """The words of a key in small letters."""
    parts = (re.split(r"[^a-z0-9]+", str(part).lower()) for part in key if isinstance(part, str))
    return frozenset(word for part in parts for word in part if word)


def is_of_loss_weights(key: Key) -> bool:
    """Whether a key stands in a section that adapts the weights of a loss."""
    words = words_of(key)
    return bool(words & _ADAPTIVE) and bool(words & _WEIGHTS)


def is_of_measuring(key: Key) -> bool:
    """Whether a key changes what validation measures, and not only when or where it does."""
    words = words_of(key)
    if not words & _MEASURING:
        return False
    leaf = words_of(key[-1:])
    return bool(
        leaf & _SHAPE & {"crop", "border", "resize", "image", "resolution", "height", "width"}
    ) or not leaf & (_CADENCE | _MEASURING)
