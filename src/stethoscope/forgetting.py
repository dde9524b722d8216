"""What functions remember of programs, and when it is let go.

Many facts about source are asked again and again and remembered by the places of its syntax tree, which keeps
the whole tree. One diagnosis wants that; a process that judges thousands of runs would keep them all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import count

EVERY = 40  # diagnoses, each of some megabytes where a run has its source beside it

_judged = count(1)


def forget_now_and_then() -> None:
    """Called once for each diagnosis; lets go of what was remembered when there were enough of them."""
    if next(_judged) % EVERY == 0:
        forget()


def forget() -> None:
    """Empty every memory of a function of this package."""
    for clear in set(_memories()):
        clear()


def _memories() -> Iterator[Callable[[], None]]:
    for name, module in list(sys.modules.items()):
        if name.startswith("stethoscope."):
            for known in list(vars(module).values()):
                clear = getattr(known, "cache_clear", None)
                if callable(clear) and getattr(known, "__module__", "").startswith("stethoscope."):
                    yield clear
