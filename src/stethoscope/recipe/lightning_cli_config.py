"""Settings that the Lightning CLI reads: its loader knows more numbers than PyYAML does.

trainer: {max_epochs: 10, gradient_clip_val: 5e-1}
model: {class_path: project.Net, init_args: {lr: 1e-4}}
"""

from __future__ import annotations

from stethoscope.recipe.interpolation import loaded_by_omegaconf
from stethoscope.run import Setting

_OF_TRAINER = frozenset(
    {
        *("max_epochs", "max_steps", "accelerator", "devices", "precision", "accumulate_grad_batches"),
        *("gradient_clip_val", "strategy", "num_nodes", "callbacks", "logger", "check_val_every_n_epoch"),
    }
)


def as_loaded(settings: tuple[Setting, ...]) -> tuple[Setting, ...]:
    """The settings with the values the CLI gives them, where a file is one of its own."""
    return loaded_by_omegaconf(settings) if _is_own(settings) else settings


def _is_own(settings: tuple[Setting, ...]) -> bool:
    """Whether a trainer's arguments stand beside classes with their arguments, or a subcommand holds them."""
    keys = [
        setting.key[1:] if setting.key[:1] in {("fit",), ("validate",)} else setting.key
        for setting in settings
    ]
    trainer = any(len(key) > 1 and key[0] == "trainer" and key[1] in _OF_TRAINER for key in keys)
    classes = any(part in {"class_path", "init_args"} for key in keys for part in key)
    seeds = any(key == ("seed_everything",) for key in keys)
    return trainer and (classes or seeds)
