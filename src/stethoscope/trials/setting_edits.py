"""A setting given another value in its file: only the value's characters change."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Callable
from difflib import get_close_matches

from stethoscope.errors import StethoscopeError, UnreadableFile
from stethoscope.prescription.edits.diff import spliced
from stethoscope.prescription.edits.rewriting import decoded, rewritten
from stethoscope.prescription.edits.yaml_edit import replaced
from stethoscope.recipe import read_settings, syntax_of
from stethoscope.run import Setting

NAMED = 6  # settings listed in a message


def with_value(content: bytes, file: str, key: str, value: str) -> bytes:
    """The file's content with a setting changed; raises StethoscopeError where that cannot be done."""
    syntax = syntax_of(file)
    if syntax is None:
        raise StethoscopeError(
            f"{file} is no settings file that can be edited by key; give --patch FILE.diff."
        )
    stored, _ = decoded(content, file)
    text = stored.replace("\r\n", "\n").replace("\r", "\n")
    settings = read_settings(text, file, syntax)
    setting = _named(settings, key, file)
    splice = replaced(setting, _WRITTEN.get(syntax, _as_given)(value))
    if splice is None:
        raise StethoscopeError(
            f"{setting.where}: {setting.dotted} comes from an anchor or another file; give --patch FILE.diff."
        )
    _must_hold(settings, setting, read_settings(spliced(text, [splice]), file, syntax), value)
    return rewritten(content, text, [splice], file)


def _named(settings: tuple[Setting, ...], key: str, file: str) -> Setting:
    exact = [setting for setting in settings if setting.dotted == key]
    ending = [setting for setting in settings if setting.dotted.endswith(f".{key}")]
    found = exact or ending
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(setting.dotted for setting in found[:NAMED])
        raise StethoscopeError(
            f"{file} has {len(found)} settings called {key}: {listed}. Give the whole key."
        )
    below = [setting.dotted for setting in settings if f".{setting.dotted}".startswith(f".{key}.")]
    if below:
        raise StethoscopeError(f"{file}: {key} holds several values; change one, as {below[0]}.")
    every = [setting.dotted for setting in settings]
    leaves = {setting.leaf: setting.dotted for setting in settings}
    near = [
        *get_close_matches(key, every, NAMED),
        *(leaves[one] for one in get_close_matches(key, leaves, 3)),
    ]
    hint = ", ".join(dict.fromkeys(near)) or ", ".join(every[:NAMED])
    raise StethoscopeError(
        f"{file} has no setting {key}, so there is nothing to change. It has: {hint or 'no settings'}."
    )


def _must_hold(before: tuple[Setting, ...], changed: Setting, after: tuple[Setting, ...], value: str) -> None:
    """Refuse an edit that changes nothing, or more than its own setting."""
    old = {setting.dotted: setting.value for setting in before}
    new = {setting.dotted: setting.value for setting in after}
    if old.keys() != new.keys():
        raise StethoscopeError(
            f"{changed.where}: {value!r} is no single value for {changed.dotted}; give --patch FILE.diff."
        )
    if new == old and all(type(new[key]) is type(old[key]) for key in new):
        raise StethoscopeError(
            f"{changed.where}: {changed.dotted} is {value} already, so this changes nothing."
        )


def _as_given(value: str) -> str:
    return value


def _json(value: str) -> str:
    return _where_it_parses(value, json.loads, json.dumps(value))


def _toml(value: str) -> str:
    return _where_it_parses(value, lambda text: tomllib.loads(f"x = {text}"), json.dumps(value))


def _python(value: str) -> str:
    return _where_it_parses(value, ast.literal_eval, repr(value))


def _where_it_parses(value: str, parse: Callable[[str], object], quoted: str) -> str:
    """The value as it was typed where the file's language understands it, else as a string."""
    try:
        parse(value)
    except (ValueError, SyntaxError, UnreadableFile):
        return quoted
    return value


_WRITTEN: dict[str, Callable[[str], str]] = {"json": _json, "toml": _toml, "python": _python}
