"""The quantities of a training, whatever a framework calls them. One file per quantity, found by folder.

A quantity's file holds QUANTITY (its name and its place in a table) and `read(spelling)`, which gives the
amount that one setting asks for, or None where the setting is about something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import ModuleType

from stethoscope.discovery import modules_in
from stethoscope.recipe.quantities._amount import Amount, Asked, Quantity
from stethoscope.recipe.quantities._spelling import Spelling, deepspeed_sections, is_in_sections, spellings
from stethoscope.run import Recipe

__all__ = [
    "Amount",
    "Asked",
    "Quantity",
    "Spelling",
    "asked_for",
    "deepspeed_sections",
    "is_in_sections",
    "quantities",
]


def asked_for(recipe: Recipe) -> Mapping[str, tuple[Asked, ...]]:
    """What a recipe asks for, by quantity; a parser's default counts where nothing else is said of it."""
    found: dict[str, list[Asked]] = {module.QUANTITY.name: [] for module in _modules()}
    readers = [(module.read, found[module.QUANTITY.name]) for module in _modules()]
    for spelling in spellings(recipe):
        for read, asked in readers:
            if spelling.is_default and any(not one.is_default for one in asked):
                continue
            amount: Amount | None = read(spelling)
            if amount is not None:
                asked.append(Asked(amount, spelling.setting, spelling.name, spelling.is_default))
    return {name: tuple(asked) for name, asked in found.items()}


def quantities() -> tuple[Quantity, ...]:
    """Every quantity, in the order of a table."""
    return tuple(module.QUANTITY for module in _modules())


@cache
def _modules() -> tuple[ModuleType, ...]:
    found = [module for module in modules_in(__name__) if hasattr(module, "QUANTITY")]
    return tuple(sorted(found, key=lambda module: module.QUANTITY.place))
