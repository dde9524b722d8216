"""Where the training began: from random weights or from something already trained."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.run import Run, Setting
from stethoscope.signals import restarts

WORDS = (
    "pretrain",
    "resume",
    "finetune",
    "fine_tune",
    "init_from",
    "load_from",
    "model_name_or_path",
    "checkpoint_path",
    "lora",
)
NOTHING = ("", "none", "null", "~", "false", "scratch", "no", "never", "0", "auto")


@dataclass(frozen=True, slots=True, eq=False)
class StartingPoint:
    """Whether the log begins with the training, and the settings that name earlier weights.

    `tuner` says that the log comes from a trainer that mostly tunes trained models and no settings tell.
    """

    log_begins_with_training: bool
    earlier_weights: tuple[Setting, ...]
    tuner: bool = False

    @property
    def from_scratch(self) -> bool:
        """Whether, as far as can be seen, the weights were random at the first logged step."""
        return self.log_begins_with_training and not self.earlier_weights and not self.tuner


def measure(run: Run) -> StartingPoint:
    """Read the beginning from the segments and the settings."""
    settings = tuple(setting for setting in run.recipe or () if _names_weights(setting))
    tuner = run.recipe is None and any(log.format.startswith("HF ") for log in run.logs)
    return StartingPoint(restarts.measure(run).from_scratch, settings, tuner)


def _names_weights(setting: Setting) -> bool:
    key = setting.dotted.lower()
    if not any(word in key for word in WORDS):
        return False
    if isinstance(setting.value, int | float) and setting.value is not True:
        return False
    return str(setting.value).strip().lower() not in NOTHING
