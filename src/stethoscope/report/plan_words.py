"""What was asked for and what takes place, as people write it."""

from __future__ import annotations

from stethoscope.recipe.quantities import Amount, Asked
from stethoscope.report.clean_text import one_line
from stethoscope.signals.training_plan import Entry, InEffect

LONGEST = 60
UNITS = {"step": "steps", "epoch": "epochs", "sample": "samples", "token": "tokens", "share": "of the run"}


def value_of(amount: Amount) -> str:
    """A value with its unit and, where there are several, what it is of."""
    value = amount.value
    if isinstance(value, tuple):
        said = ", ".join(f"{part:,g}" for part in value)
    elif isinstance(value, bool):
        said = "on" if value else "off"
    elif isinstance(value, int | float):
        said = f"{value:,.0f}" if value == int(value) and abs(value) >= 1000 else f"{value:g}"
    else:
        said = str(value)
    part = f"{amount.part} " if amount.part not in {"", "betas", "device", "length", "switch", "not"} else ""
    refused = "not " if amount.part == "not" else ""
    unit = f" {UNITS[amount.unit]}" if amount.unit in UNITS else ""
    return one_line(f"{refused}{part}{said}{unit}", LONGEST)


def asked_in_words(asked: Asked) -> str:
    """An amount, and that it is only a default where it is."""
    return value_of(asked.amount) + (" (default)" if asked.is_default else "")


def in_effect_in_words(one: InEffect) -> str:
    """An amount and how it is known."""
    return value_of(one.amount)


def difference(entry: Entry) -> str:
    """What differs, in one sentence; "" where nothing does or it cannot be told."""
    pair = entry.differs
    if pair is None:
        return ""
    asked, taken = pair
    return f"{asked.name} asks for {value_of(asked.amount)}, and the source has {value_of(taken.amount)}"
