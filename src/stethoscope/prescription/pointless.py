"""Edits that would change nothing, or that a trial has refuted: they are not prescribed."""

from __future__ import annotations

from collections.abc import Iterable

from stethoscope.prescription.case import Case
from stethoscope.run import Setting, Splice

# What these find is read by nothing, or by another name: another value cannot act.
INERT = ("setting-never-used", "unknown-setting", "unknown-argument")
ABOUT_INERT = frozenset({"setting-ignored"})  # whose remedies are about just these settings


def is_pointless(splices: Iterable[Splice], cures: Iterable[str], case: Case) -> bool:
    """Whether a change is of settings that nothing reads, or to values that a trial saw do no good."""
    settings = [(setting, splice) for splice in splices if (setting := _setting(splice, case)) is not None]
    if any(_is_refuted(setting, splice, case) for setting, splice in settings):
        return True
    if ABOUT_INERT.intersection(cures):
        return False
    inert = {place for rule in INERT for finding in case.examination.of(rule) for place in finding.places[:1]}
    lines = {(place.file, place.line) for place in inert}
    return any((setting.where.file, setting.where.line) in lines for setting, _ in settings)


def _setting(splice: Splice, case: Case) -> Setting | None:
    """The setting whose value a splice replaces."""
    recipe = case.run.recipe
    for setting in (*recipe.settings, *recipe.shadowed, *recipe.defaults) if recipe else ():
        if setting.where.file == splice.file and setting.span == (splice.start, splice.end):
            return setting
    return None


def _is_refuted(setting: Setting, splice: Splice, case: Case) -> bool:
    return any(
        f".{setting.dotted}".endswith(f".{key}") and _same(value, splice.text)
        for proof in case.run.proofs
        if proof.refuted
        for key, value in proof.settings
    )


def _same(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return one.strip("\"'") == other.strip("\"'")
