"""Numbers as files write them."""

from __future__ import annotations

import math


def with_dot(number: float) -> str:
    """A number that every format reads as one: an exponent only behind a dot, and with its sign."""
    if number == int(number) and abs(number) < 1e16:
        return f"{number:.1f}"
    text = repr(number)
    mantissa, exponent, power = text.partition("e")
    if not exponent:
        return text
    sign = "" if power.startswith(("+", "-")) else "+"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{sign}{power}"


def is_plain_number(value: object) -> bool:
    """Whether a value is a finite number and no switch."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
