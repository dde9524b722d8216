"""Numbers as logs spell them."""

from __future__ import annotations

import math
import re

_EXPONENT = r"(?:[eE][-+]?\d++)?"
_REST = rf"(?:\.\d*+)?{_EXPONENT}|\.\d++{_EXPONENT}|[nN]a[nN]|[iI]nf(?:inity)?"
# A number, or one of the spellings of "not a number" and infinity; NUMBER may have thousands separators.
PLAIN_NUMBER = rf"[-+]?(?:\d++{_REST})"
NUMBER = rf"[-+]?(?:\d++(?:,\d{{3}}(?!\d))*+{_REST})"
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_WORDS = {
    "nan": math.nan,
    "inf": math.inf,
    "infinity": math.inf,
    "1.#inf": math.inf,
    "1.#qnan": math.nan,
    "1.#ind": math.nan,
}
LONGEST_NUMBER = 400  # characters; what is longer was not printed by a training loop
LAST_STEP = 2**62  # steps beyond this do not fit the arrays and mean nothing


def number(text: str) -> float | None:
    """The value of a cell or field; None for what is no number, such as an empty cell."""
    try:
        value = float(text)
    except ValueError:
        return _unusual(text.strip()) if len(text) <= LONGEST_NUMBER else None
    return value if "_" not in text else None  # Python reads 1_000, loggers do not write it


def _unusual(text: str) -> float | None:
    bare = text.lstrip("+-").lower()
    if bare in _WORDS:
        return math.copysign(_WORDS[bare], -1.0 if text[0] == "-" else 1.0)
    if _THOUSANDS.fullmatch(text):
        return float(text.replace(",", ""))
    if text.startswith("tensor("):
        return number(text[len("tensor(") :].partition(",")[0].rstrip(")"))
    return None


def whole(value: float) -> int | None:
    """A value as a step; None for a fraction, a non-finite value, or more than any counter reaches."""
    if not math.isfinite(value) or abs(value) > LAST_STEP or value != math.floor(value):
        return None
    return int(value)
