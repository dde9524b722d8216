"""What a value on a command line is worth: a number, a truth value, nothing, or a text."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"[-+]?\d{1,18}(?:_\d{1,18})*")
_FLOAT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?")
_WORDS: dict[str, object] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "None", "none"), None),
}
_SPECIAL = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


def as_written(text: str) -> object:
    """The value that a parser with the right type makes of a word."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if len(text) < 400 and _FLOAT.fullmatch(text):
        return float(text)
    return _SPECIAL.get(text.lower(), text)
