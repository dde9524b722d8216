"""One setting changed, taken out or added, whatever the format of its file.

Every edit is tried before it is given: the text that it leaves is read again, and must differ from the text
before in exactly this setting. Where it does not, there is no edit.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import ModuleType

from stethoscope.discovery import modules_in
from stethoscope.errors import UnreadableFile
from stethoscope.prescription.edits.diff import spliced
from stethoscope.recipe import read_settings
from stethoscope.recipe.parser_defaults import options_in
from stethoscope.run import Recipe, Run, Setting, Source, Splice

Values = dict[str, list[tuple[str, object]]]  # what each key holds, with its type: 1 is not True, nor 1.0
Reading = Callable[[str], Values]
EMPTY: tuple[str, object] = (
    "dict",
    {},
)  # a section that holds nothing is a setting, and none any more once it holds one


def with_value(setting: Setting, value: object, run: Run) -> Splice | None:
    """Another value for a setting; None where it has it already, or cannot be given it here."""
    place = _place(setting, run)
    if place is None or setting.span is None or not setting.known:
        return None
    text, module, reading = place
    before = text[slice(*setting.span)]
    said = module.written(value, before)
    if said is None or said == before:
        return None
    splice = Splice(setting.where.file, *setting.span, said)
    return splice if _changes_only(setting, splice, text, reading) else None


def without(setting: Setting, run: Run) -> Splice | None:
    """A setting taken out with its key; None where it stands in no place of its own."""
    place = _place(setting, run)
    if place is None or not setting.known:
        return None
    text, module, reading = place
    span: tuple[int, int] | None = module.entry(setting, text)
    if span is None:
        return None
    splice = Splice(setting.where.file, *span, "")
    return splice if _takes_out_only(setting, splice, text, reading) else None


def with_new(key: Sequence[str], value: object, file: str, run: Run) -> Splice | None:
    """A setting that a file does not have; None where it has it, or has no place for it.

    Whether the program reads it there is for whoever asks to know.
    """
    config = (run.recipe or Recipe()).file(file)
    module = _formats().get(config.syntax) if config is not None else None
    if config is None or module is None or not hasattr(module, "insertion"):
        return None
    syntax = config.syntax
    found: tuple[int, str] | None = module.insertion(config.text, key, value)
    if found is None:
        return None
    at, said = found
    splice = Splice(file, at, at, said)
    both = _both(splice, config.text, lambda text: _settings(text, file, syntax))
    return splice if both is not None and _adds_only(".".join(key), value, *both) else None


def _place(setting: Setting, run: Run) -> tuple[str, ModuleType, Reading] | None:
    """The text that a setting stands in, how its format is edited, and how the text is read."""
    file = setting.where.file
    config = (run.recipe or Recipe()).file(file)
    if config is not None and config.syntax in _formats():
        syntax = config.syntax
        return config.text, _formats()[syntax], lambda text: _settings(text, file, syntax)
    source = run.program.source(file) if run.program else None
    if source is None:
        return None
    known = source
    return source.text, _formats()["python"], lambda text: _options(text, known)


@cache
def _formats() -> Mapping[str, ModuleType]:
    package = __name__.rpartition(".")[0]
    return {str(one.SYNTAX): one for one in modules_in(package) if hasattr(one, "SYNTAX")}


def _settings(text: str, file: str, syntax: str) -> Values:
    return _values(read_settings(text, file, syntax))


def _options(text: str, source: Source) -> Values:
    """The defaults that a source's parsers give, and its constants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    options = options_in(Source(source.file, source.module, text, tree))
    return _values(tuple(option.setting for option in options))


def _values(settings: tuple[Setting, ...]) -> Values:
    found: Values = {}
    for setting in settings:
        found.setdefault(setting.dotted, []).append(
            (type(setting.value).__name__, _comparable(setting.value))
        )
    return found


def _comparable(value: object) -> object:
    return "nan" if isinstance(value, float) and value != value else value


def _changes_only(setting: Setting, splice: Splice, text: str, reading: Reading) -> bool:
    both = _both(splice, text, reading)
    if both is None or both[0].keys() != both[1].keys():
        return False
    before, after = both
    differing = [key for key in before if before[key] != after[key]]
    return len(differing) == 1 and _is(differing[0], setting) and _one_apart(*(b[differing[0]] for b in both))


def _takes_out_only(setting: Setting, splice: Splice, text: str, reading: Reading) -> bool:
    both = _both(splice, text, reading)
    if both is None:
        return False
    before, after = both
    gone = before.keys() - after.keys()
    kept = (
        all(before[key] == after.get(key) for key in before.keys() - gone)
        and not after.keys() - before.keys()
    )
    return kept and len(gone) == 1 and _is(next(iter(gone)), setting) and len(before[next(iter(gone))]) == 1


def _adds_only(key: str, value: object, before: Values, after: Values) -> bool:
    """Whether there is one setting more than before, with this value, and all others are as they were."""
    kept = {name: values for name, values in after.items() if name != key}
    filled = {name for name, values in before.items() if key.startswith(f"{name}.") and values == [EMPTY]}
    known = {name: values for name, values in before.items() if name not in filled}
    return key not in before and kept == known and after.get(key) == [(type(value).__name__, value)]


def _both(splice: Splice, text: str, reading: Reading) -> tuple[Values, Values] | None:
    try:
        return reading(text), reading(spliced(text, [splice]))
    except (UnreadableFile, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is(key: str, setting: Setting) -> bool:
    """Whether a key of the file is the setting's own; a file that others include has shorter ones."""
    return setting.dotted == key or f".{setting.dotted}".endswith(f".{key}")


def _one_apart(before: list[tuple[str, object]], after: list[tuple[str, object]]) -> bool:
    return len(before) == len(after) and sum(a != b for a, b in zip(before, after, strict=True)) == 1
