"""The settings that the code replaces after they were parsed and before anything reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.settings.early_defaults import early_defaults
from stethoscope.program.settings.flags_over_files import flags_over_files
from stethoscope.program.settings.imported_files import imported_files
from stethoscope.program.settings.lost_overrides import lost_overrides
from stethoscope.program.settings.option import Option, literal
from stethoscope.program.settings.outvoted_options import buried_settings, outvoted_options
from stethoscope.program.settings.overwritten_groups import overwritten_groups
from stethoscope.program.settings.overwritten_settings import (
    Overwritten,
    overwritten_parameters,
    overwritten_settings,
)
from stethoscope.program.settings.setting_uses import setting_uses
from stethoscope.program.settings.undone_parameters import undone_parameters
from stethoscope.recipe.passed_words import FixedOption, options_behind_passed_words
from stethoscope.run import Run, Setting, Where
from stethoscope.signals.missing import Missing
from stethoscope.signals.unused_settings import asks_for_something, is_exempt, speaks_of_training


@dataclass(frozen=True, slots=True, eq=False)
class OverwrittenSetting:
    """A replaced setting: the statement, where the setting is declared or set, and the value given there.

    `matters` says that its name speaks of training, and that the value is another one.
    """

    statement: Overwritten
    given: tuple[Where, ...]
    value: object
    matters: bool


@dataclass(frozen=True, slots=True, eq=False)
class OverwrittenSettings:
    """All of them. `fixed` are the options that a launcher types behind what it is given to pass on."""

    settings: tuple[OverwrittenSetting, ...]
    fixed: tuple[FixedOption, ...] = ()


def measure(run: Run) -> OverwrittenSettings | Missing:
    """Look at every statement that stores into settings."""
    if run.program is None:
        return Missing(
            "the training source was not found, so nothing tells whether it replaces its settings",
            log_this="keep a copy of the source with the run, or name it by --code",
        )
    uses = setting_uses(run.program)
    if uses is None:
        return Missing("the program is too large to follow its settings")
    options = [option for option in uses.options if not is_exempt(option.name)]
    written = [s for s in run.recipe or () if s.leaf and not is_exempt(s.leaf)]
    undone = tuple(
        OverwrittenSetting(one.replaced, (one.taken,), None, True)
        for one in undone_parameters(uses.code)
        if speaks_of_training(one.replaced.name)
    )
    undone += tuple(
        OverwrittenSetting(one.replaced, (one.taken,), None, True)
        for one in (*lost_overrides(uses.code), *overwritten_groups(uses.code))
    )
    fixed = tuple(_fixed(run, options))
    if not options and not written and not undone and not fixed:
        return Missing("the source declares no settings and reads no settings file")
    names = sorted({option.name for option in options} | {setting.leaf for setting in written})
    plain = [option for option in options if option.kind in {"parameter", "constant"}]
    found = [*overwritten_settings(uses.code, names), *overwritten_parameters(uses.code, plain)]
    found += [one for one in outvoted_options(uses.code) if any(_in_files(one, written))]
    found += buried_settings(uses.code)
    launched = _launched(run)
    replacing = (*flags_over_files(uses.code), *early_defaults(uses.code))
    flags = (one for one in replacing if one.name not in launched)
    found += [one for one in flags if any(_in_files(one, written))]
    judged = (_judged(one, options, written, uses.code.index) for one in found)
    known = [one for one in judged if one is not None]
    told = {id(one.statement.statement) for one in known}
    known += (one for one in undone if id(one.statement.statement) not in told)
    return OverwrittenSettings(tuple(known), fixed)


def _fixed(run: Run, options: list[Option]) -> Iterator[FixedOption]:
    declared = {option.name for option in options if speaks_of_training(option.name)}
    for file in run.recipe.files if run.recipe is not None else ():
        if file.syntax == "shell":
            found = options_behind_passed_words(file.text, file.file)
            yield from (option for option in found if option.name in declared)


def _judged(
    found: Overwritten, options: list[Option], written: list[Setting], index: Index
) -> OverwrittenSetting | None:
    """The replaced setting with its places; None where nobody can have given it a value."""
    in_files = list(_in_files(found, written))
    declared = [option for option in options if option.name == found.name and _fits(option, found, index)]
    if not declared and not in_files:
        return None
    value = in_files[0].value if in_files else declared[0].default
    asked = bool(in_files) or asks_for_something(found.name, value)
    # What is replaced by the very value that the settings ask for changes nothing under these settings.
    replacing = literal(found.default if found.default is not None else found.value)
    is_same = any(replacing == setting.value for setting in in_files)
    matters = speaks_of_training(found.name) and not is_same
    # What is derived from other settings stands in for one that was not given.
    if not isinstance(found.value, ast.Constant | ast.UnaryOp) and not (asked and matters):
        return None
    places = (*(setting.where for setting in in_files), *(option.where for option in declared))
    return OverwrittenSetting(found, tuple(dict.fromkeys(places)), value, matters)


def _launched(run: Run) -> frozenset[str]:
    """The flags that a launcher types."""
    files = run.recipe.files if run.recipe is not None else ()
    shells = {file.file for file in files if file.syntax == "shell"}
    return frozenset(setting.leaf for setting in run.recipe or () if setting.where.file in shells)


def _in_files(found: Overwritten, written: list[Setting]) -> Iterator[Setting]:
    for setting in written:
        path = tuple(part for part in setting.key if isinstance(part, str))
        if path == found.path:
            yield setting


def _fits(option: Option, found: Overwritten, index: Index) -> bool:
    """Whether an option can be what a statement replaces."""
    if option.kind in {"parameter", "constant"}:
        return option.where.file == found.source.file and len(found.path) == 1
    is_plain = found.kind == "parsed" and option.kind in {"flag", "field"} and len(found.path) == 1
    return is_plain and _run_together(option.where.file, found.source.file, index)


def _run_together(one: str, other: str, index: Index) -> bool:
    """Whether one run can hold both files: the flags of a script beside it are not this script's."""
    if one == other:
        return True
    return any({one, other} <= imported_files(index, source) for source in index.program)
