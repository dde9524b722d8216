"""Where a platform keeps what may be found out again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

NAME = "stethoscope"


def cache_folder() -> Path:
    """The user's cache folder for this program; it need not exist."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(os.path.expanduser("~"), "AppData", "Local")
        return Path(base) / NAME / "Cache"
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~")) / "Library" / "Caches" / NAME
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The specification says that a relative path is to be ignored.
    base = given if os.path.isabs(given) else os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / NAME
