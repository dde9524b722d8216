"""How a black box is known: the folder in which Guard keeps one bad step.

{"schema": 1, "step": 120, "rank": null, ...      the beginning of its box.json

The tensors beside it are those of one step, no checkpoints, and its numbers stand in the flight record too.
"""

from __future__ import annotations

import os
import re
import stat

STORY = "box.json"

_BEGINNING = re.compile(rb'\s*\{\s*"schema"\s*:\s*\d+\s*,\s*"step"\s*:\s*-?\d+\s*,\s*"rank"\s*:')
_ENOUGH = 200  # bytes; the three keys take fifty


def is_black_box(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder is a black box, by the beginning of its story; one that cannot be read is none."""
    story = os.path.join(folder, STORY)
    try:
        # A pipe of that name would be waited for.
        if not stat.S_ISREG(os.lstat(story).st_mode):
            return False
        with open(story, "rb") as stream:
            return _BEGINNING.match(stream.read(_ENOUGH)) is not None
    except OSError:
        return False
