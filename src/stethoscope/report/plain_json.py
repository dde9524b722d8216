"""Values in the types of JSON: strict, finite, and without what no reader could decode."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

LONE_SURROGATE = re.compile("[\\ud800-\\udfff]")


def plain(value: object) -> object:
    """The value in the types of JSON: what rules put into evidence may be anything."""
    if isinstance(value, Mapping):
        return {_text(str(key)): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return _text(str(value))


def _text(text: str) -> str:
    """The text without lone surrogates, which stand for undecodable bytes in file names."""
    return LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
