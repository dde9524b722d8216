"""The loss terms that the settings ask for, and their weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stethoscope.run import Key, Recipe, Run
from stethoscope.signals.missing import Missing

TYPES = ("type", "name", "loss", "loss_type", "_target_")
WEIGHTS = ("loss_weight", "weight", "lambda", "coefficient", "coef")


@dataclass(frozen=True, slots=True, eq=False)
class LossSettings:
    """The configured weight of each loss term, by the term's type in lower case."""

    weights: Mapping[str, float]

    def weight_of(self, term: str) -> float | None:
        """The weight of the term that a log calls by this name; None unless exactly one fits."""
        plain = _plain(term)
        fitting = {weight for kind, weight in self.weights.items() if _plain(kind) == plain}
        return fitting.pop() if len(fitting) == 1 else None


def measure(run: Run) -> LossSettings | Missing:
    """Pair each loss's type with the weight beside it."""
    if run.recipe is None:
        return Missing("no settings were found")
    weights = _beside_a_type(run.recipe) | _named_after_the_term(run.recipe)
    if not weights:
        return Missing("the settings name no loss weights")
    return LossSettings(weights)


def _beside_a_type(recipe: Recipe) -> dict[str, float]:
    """`- {type: SSIMLoss, loss_weight: 0.05}` and its kin."""
    weights: dict[Key, float] = {}
    for setting in recipe.named(*WEIGHTS):
        if isinstance(setting.value, int | float) and not isinstance(setting.value, bool):
            weights[setting.key[:-1]] = float(setting.value)
    kinds = {setting.key[:-1]: str(setting.value).lower() for setting in recipe.named(*TYPES)}
    return {kinds[key]: weight for key, weight in weights.items() if key in kinds}


def _named_after_the_term(recipe: Recipe) -> dict[str, float]:
    """`ssim_weight: 0.05`, `lambda_ssim: 0.05`."""
    found = {}
    for setting in recipe:
        leaf = setting.leaf.lower()
        if "weight" not in leaf and "lambda" not in leaf:
            continue
        if isinstance(setting.value, int | float) and not isinstance(setting.value, bool):
            found[leaf.replace("weight", "").replace("lambda", "").strip("_")] = float(setting.value)
    return {term: weight for term, weight in found.items() if term and term != "loss"}


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower().replace("loss", "") if letter.isalnum())
