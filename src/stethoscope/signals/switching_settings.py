"""The numbers of the settings that only decide whether something is done, and never how much of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.settings.setting_uses import SettingUses, Use, amount_uses, setting_uses
from stethoscope.run import Run, Where
from stethoscope.signals.missing import Missing
from stethoscope.signals.unused_settings import (
    Wanted,
    speaks_of_training,
    usage_of,
    wanted_settings,
    written_names,
)


@dataclass(frozen=True, slots=True)
class SwitchingSetting:
    """A number that is asked for and only switches: where it is set, and the questions it answers."""

    name: str
    value: float
    where: Where
    asked_at: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class SwitchingSettings:
    """All of them."""

    settings: tuple[SwitchingSetting, ...]


def measure(run: Run) -> SwitchingSettings | Missing:
    """Follow every fraction among the settings of the training to what takes its size."""
    if run.program is None:
        return Missing("the training source was not found, so nothing tells what becomes of the settings")
    written = written_names(run)
    uses, amounts = setting_uses(run.program, written), amount_uses(run.program, written)
    if uses is None or amounts is None:
        return Missing("the program is too large to follow its settings")
    return SwitchingSettings(tuple(_switching(wanted_settings(run, uses), uses, amounts)))


def _switching(
    groups: dict[str, list[Wanted]], uses: SettingUses, amounts: SettingUses
) -> Iterator[SwitchingSetting]:
    for name, places in groups.items():
        first = next((place for place in places if place.option is None), places[0])
        if not speaks_of_training(name) or not _is_fraction(first.value) or not _is_one(places):
            continue
        if any(usage_of(place, places, uses).use is not Use.USED for place in places):
            continue
        found = [usage_of(place, places, amounts) for place in places]
        asked = tuple(dict.fromkeys(mention for usage in found for mention in usage.mentions))
        if asked and all(usage.use is Use.UNUSED for usage in found):
            assert isinstance(first.value, float)
            yield SwitchingSetting(name, first.value, first.where, asked)


def _is_fraction(value: object) -> bool:
    """Whether a value is more than a yes: 0.95 is, 1.0 is not."""
    return isinstance(value, float) and not value.is_integer()


def _is_one(places: list[Wanted]) -> bool:
    """Whether all places speak of one setting, and not of several sections with one of that name."""
    return len({place.sections for place in places if place.option is None}) <= 1
