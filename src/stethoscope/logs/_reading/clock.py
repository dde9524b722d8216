"""When a log began and was last written, as far as its lines and name tell."""

from __future__ import annotations

import re
from datetime import datetime

_STAMP = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d):(\d\d)")
_IN_NAME = re.compile(r"(20\d\d)-?(\d\d)-?(\d\d)[-_T ](\d\d)[-:_]?(\d\d)[-:_]?(\d\d)")


def stamp_of(line: str) -> float | None:
    """The Unix time that a log line begins with; stamps are taken as local time, as loggers write them."""
    return _unix(_STAMP.search(line[:40]))


def stamp_in_name(name: str) -> float | None:
    """The Unix time in a file name such as train_x_20241018_192730.log."""
    return _unix(_IN_NAME.search(name))


def _unix(found: re.Match[str] | None) -> float | None:
    if found is None:
        return None
    try:
        return datetime(*(int(part) for part in found.groups())).timestamp()  # type: ignore[arg-type]
    except (ValueError, OverflowError, OSError):
        return None
