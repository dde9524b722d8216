"""The config.yaml that Weights & Biases writes: every setting below `value`, some with a description.

wandb_version: 1
_wandb: {value: {cli_version: 0.16.6}}
lr: {desc: null, value: 0.001}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stethoscope.run import Setting

NAME = "config.yaml"
_OWN = frozenset({"_wandb", "wandb_version"})
_BESIDE = frozenset({"value", "desc"})


def unwrapped(settings: tuple[Setting, ...], name: str, folders: Sequence[str]) -> tuple[Setting, ...]:
    """The settings as the run knew them, where a file is W&B's by its place or by what it holds."""
    if name != NAME or not ("wandb" in folders or _is_own(settings)):
        return settings
    held = (s for s in settings if len(s.key) > 1 and s.key[1] == "value" and s.key[0] not in _OWN)
    return tuple(replace(s, key=(s.key[0], *s.key[2:])) for s in held)


def _is_own(settings: tuple[Setting, ...]) -> bool:
    """Whether W&B's own entry is there, and every other is a value with at most a description beside it."""
    others = [s.key for s in settings if s.key and s.key[0] not in _OWN]
    marked = any(s.key and s.key[0] in _OWN for s in settings)
    return marked and all(len(key) > 1 and key[1] in _BESIDE for key in others)
