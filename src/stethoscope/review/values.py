"""Values as people write them, and when two of them are the same."""

from __future__ import annotations

import math
import re

import yaml

_NUMBER = re.compile(r"[~≈]?\s*([+-]?(?:\d[\d_]*(?:,\d{3})*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([kKmM%]?)")
_POWER = re.compile(r"(\d+(?:\.\d+)?)\s*(?:[x×*]|\\times)\s*10\s*(?:\^|\*\*)\s*\{?\(?(-?\d+)\)?\}?")
_TRUE = frozenset({"true", "yes", "on", "enabled", "enable"})
_FALSE = frozenset({"false", "no", "off", "disabled", "disable"})
_NOTHING = frozenset({"none", "null", "~", "nil"})
_WORDS = {
    "zero": 0.0,
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "four": 4.0,
    "eight": 8.0,
    "ten": 10.0,
    "sixteen": 16.0,
}
_SCALE = {"": 1.0, "k": 1e3, "m": 1e6, "%": 0.01}
_TAG = re.compile(r"^!!?\w+\s+")
_LONGEST = 2000

# Digits, with a sign, separators, an exponent and a suffix: what a number looks like inside prose. The group
# is atomic: half a number is never matched.
NUMBER = (
    r"(?>[~≈]?[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d[\d_]*(?:\.\d+)?|\.\d+)"
    r"(?:[eE][+-]?\d+|\s?[x×*]\s?10\^\{?-?\d+\}?)?(?:[kKM%](?![A-Za-z0-9]))?)"
)


def number_of(text: str) -> float | None:
    """The number that a text is: 20k, 5,000, 1e-5, 2x10^-4; None where it is something else."""
    text = text.strip().strip("`'\"*")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    power = _POWER.fullmatch(text)
    if power:
        return _finite(float(power[1]) * 10.0 ** max(-400, min(400, int(power[2]))))
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    try:
        return _finite(float(found[1].replace(",", "").replace("_", "")) * _SCALE[found[2].lower()])
    except (ValueError, OverflowError):
        return None


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def value_of(text: str) -> object:
    """The value that a text stands for: number, switch, nothing, list, or the text itself."""
    written = _TAG.sub("", text.strip())[:_LONGEST].strip().rstrip(",;").strip()
    bare = written.strip("`'\"").strip()
    lowered = bare.lower()
    if lowered in _TRUE or lowered in _FALSE:
        return lowered in _TRUE
    if lowered in _NOTHING:
        return None
    number = number_of(bare)
    if number is not None:
        is_whole = number.is_integer() and abs(number) < 1e15 and not re.search(r"\d*(?:\.|\d[eE])", bare)
        return int(number) if is_whole else number
    if written[:1] in "[(" and written[-1:] in "])":
        return _list(written)
    return bare


def _list(written: str) -> object:
    inside = "[" + written[1:-1] + "]"
    try:
        loaded = yaml.safe_load(inside)
    except (yaml.YAMLError, ValueError, RecursionError):
        return written
    if not isinstance(loaded, list):
        return written
    return [value_of(str(one)) if isinstance(one, str) else one for one in loaded]


def same(one: object, other: object) -> bool:
    """Whether two values ask for the same."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    first, second = _comparable(one), _comparable(other)
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-300)
    if isinstance(first, str) and isinstance(second, str):
        # `torch.optim.AdamW` is AdamW.
        return first == second or first.endswith(f".{second}") or second.endswith(f".{first}")
    return first == second


def _comparable(value: object) -> object:
    if isinstance(value, str):
        value = value_of(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        return re.sub(r"[\s_-]+", "", value).lower()
    return value


def shown(value: object) -> str:
    """A value as a settings file would have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(shown(one) for one in value) + "]"
    return str(value)
