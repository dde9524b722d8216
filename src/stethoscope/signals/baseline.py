"""What a model that learned nothing would score, as far as settings and logs tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from stethoscope.run import Recipe, Run, Series, Setting
from stethoscope.signals.missing import Missing

VOCABULARIES = ("vocab_size", "n_vocab", "vocabulary_size", "tokens", "padded_vocab_size")
CLASSES = ("num_classes", "n_classes", "nb_classes", "num_labels", "nclass", "classes")
SCALES = ("scale", "upscale", "scale_factor", "sr_scale", "upscale_factor")
RESTORES = (
    "sr",
    "super",
    "upscale",
    "restor",
    "denois",
    "deblur",
    "enhance",
    "esr",
    "edsr",
    "rcan",
    "swinir",
)
BASELINES = (
    "bicubic",
    "baseline",
    "identity",
    "naive",
    "input",
    "copy",
    "majority",
    "random",
    "lanczos",
    "bilinear",
)
# Sizes whose logarithm a freshly initialised model of a common kind starts at.
COMMON_SIZES = (1000, 21841, 30522, 32000, 50257, 50304, 128256, 151936, 256000)


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """The number of classes or tokens, the enlargement of a restoration task, and logged baselines.

    `references` maps a metric to the series that holds a trivial method's score on it.
    """

    vocabulary: Setting | None
    classes: Setting | None
    enlargement: Setting | None
    references: Mapping[str, Series]

    @property
    def chance_loss(self) -> float | None:
        """The cross-entropy of guessing, where the number of choices is configured."""
        chosen = self.vocabulary or self.classes
        value = chosen.value if chosen else None
        return math.log(value) if isinstance(value, int) and value > 1 else None


def measure(run: Run) -> Baseline | Missing:
    """Read what the settings and the log say about doing nothing."""
    references = _references(run.series)
    recipe = run.recipe
    if recipe is None:
        return Baseline(None, None, None, references)
    return Baseline(
        _count(recipe, VOCABULARIES), _count(recipe, CLASSES), _enlargement(recipe, run.name), references
    )


def common_size(loss: float, within: float = 0.01) -> int | None:
    """A common number of classes or tokens for which guessing costs about this much."""
    return next((size for size in COMMON_SIZES if abs(loss / math.log(size) - 1.0) <= within), None)


def _count(recipe: Recipe, names: tuple[str, ...]) -> Setting | None:
    found = [setting for setting in recipe.named(*names) if _is_count(setting.value)]
    return found[0] if len({setting.value for setting in found}) == 1 else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 1


def _enlargement(recipe: Recipe, name: str) -> Setting | None:
    """The scale of a super-resolution task; any key called scale elsewhere means something else."""
    told = [
        name,
        *(
            str(setting.value)
            for setting in recipe.named("name", "model", "model_type", "type", "task", "arch")
        ),
    ]
    if not any(word in text.lower() for text in told for word in RESTORES):
        return None
    found = [setting for setting in recipe.named(*SCALES) if setting.value in (1, 2, 3, 4, 8)]
    return found[0] if found else None


def _references(series: Mapping[str, Series]) -> dict[str, Series]:
    """Scores logged for a trivial method beside the model's: val/psnr_bicubic for val/psnr."""
    found = {}
    for name, one in series.items():
        if not name.startswith("val/") or not len(one.finite()):
            continue
        for word in BASELINES:
            plain = name.replace(f"_{word}", "").replace(f"{word}_", "").replace(f"/{word}", "")
            if plain != name and plain in series:
                found[plain] = one.finite()
    return found
