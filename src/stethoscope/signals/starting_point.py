"""Where the training began: from random weights or from something already trained."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stethoscope.program.index import index
from stethoscope.program.loop.random_start import speaks_of_given_weights
from stethoscope.run import Run, Series, Setting
from stethoscope.signals import restarts
from stethoscope.signals.loss import words

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
SHARES = frozenset({"accuracy", "acc", "r2", "f1", "auc", "map", "iou", "dice"})
POOR = {"accuracy": 0.4, "acc": 0.4, "r2": 0.1, "auc": 0.55}  # what a trained network seldom stays below
USUAL_CLASSES = (2, 3, 4, 5, 6, 7, 8, 10, 20, 50, 100, 1000)
FEWEST_GUESSES = 8  # values of a loss, for its level to be known
RESTLESS = 0.01  # of its level: the loss of a network that only guesses hardly depends on the batch
EXACT = 0.001  # of the level
DROP = 1.1  # times the level of what follows
MANY_STRAYS = 10.0  # of single values: a first batch is not so far off by chance
GOOD = 0.8  # a share that an untrained network does not have
NOTHING = ("", "none", "null", "~", "false", "scratch", "no", "never", "0", "auto")


@dataclass(frozen=True, slots=True, eq=False)
class StartingPoint:
    """Whether the log begins with the training, and the settings that name earlier weights.

    `tuner` says that the log comes from a trainer that mostly tunes trained models and no settings tell.
    `knows_its_task` says that the first score that was logged leaves little to learn; `seems_untrained`, that
    something speaks for random weights: settings or a program that name no others, or scores that stay poor.
    A log alone in which nothing moves may as well be that of a training which was continued.
    `given_in_source` says that the program speaks of weights that it did not train itself.
    """

    log_begins_with_training: bool
    earlier_weights: tuple[Setting, ...]
    tuner: bool = False
    knows_its_task: bool = False
    seems_untrained: bool = True
    given_in_source: bool = False

    @property
    def from_scratch(self) -> bool:
        """Whether, as far as can be seen, the weights were random at the first logged step."""
        return self.log_begins_with_training and not self.earlier_weights and not self.tuner


def measure(run: Run) -> StartingPoint:
    """Read the beginning from the segments and the settings."""
    settings = tuple(setting for setting in run.recipe or () if _names_weights(setting))
    tuner = run.recipe is None and any(log.format.startswith("HF ") for log in run.logs)
    told = run.recipe is not None or run.program is not None or _scores_poorly(run) or _loss_tells(run)
    given = run.program is not None and speaks_of_given_weights(index(run.program))
    return StartingPoint(
        restarts.measure(run).from_scratch, settings, tuner, _scores_well_at_once(run), told, given
    )


def _scores_poorly(run: Run) -> bool:
    """Whether a share that a trained network would have is low to the end."""
    shares = (one.finite() for name, one in run.series.items() if words(name) & POOR.keys())
    return any(len(one) and float(one.values.max()) < _poor(one) for one in shares)


def _loss_tells(run: Run) -> bool:
    """Whether the loss stays at what guessing costs, or begins far above all that follows."""
    losses = [one.finite() for name, one in run.series.items() if name in {"loss", "train/loss"}]
    with np.errstate(all="ignore"):  # a run may log 1e300
        return any(
            _is_of_guessing(one) or _drops_at_once(one) for one in losses if len(one) >= FEWEST_GUESSES
        )


def _drops_at_once(loss: Series) -> bool:
    """Whether the first value stands out above the others, as that of random weights does."""
    first, others = float(loss.values[0]), loss.values[1:]
    level = float(np.median(others))
    stray = float(np.median(np.abs(others - level)))
    return level > 0.0 and first > DROP * level and first - level > MANY_STRAYS * stray


def _is_of_guessing(loss: Series) -> bool:
    level, noise = float(loss.values.mean()), float(loss.values.std())
    nearest = min(abs(level - math.log(classes)) for classes in USUAL_CLASSES)
    return noise < RESTLESS * level and nearest < max(EXACT * level, 2.0 * noise / math.sqrt(len(loss)))


def _poor(share: Series) -> float:
    return max((POOR[word] for word in words(share.name) & POOR.keys()), default=0.0)


def _scores_well_at_once(run: Run) -> bool:
    """Whether some share of right or explained answers is high at its first line already."""
    shares = (one.finite() for name, one in run.series.items() if words(name) & SHARES)
    return any(_is_good(one) for one in shares if len(one))


def _is_good(share: Series) -> bool:
    whole = 100.0 if float(share.values.max()) > 1.0 else 1.0
    return GOOD * whole <= float(share.values[0]) <= whole and float(share.values.min()) > 0.5 * whole


def _names_weights(setting: Setting) -> bool:
    key = setting.dotted.lower()
    if not any(word in key for word in WORDS):
        return False
    if isinstance(setting.value, int | float) and setting.value is not True:
        return False
    return str(setting.value).strip().lower() not in NOTHING
