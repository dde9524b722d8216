"""Fewer garbage collections while a repository is in memory.

Syntax trees are millions of objects that live until the end: a collection that visits them all finds nothing
and costs a third of the time (measured on 127,000 lines of torch: 16.9 s of processor time against 11.7 s).
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

# About every 200 MB. Of what is there then, one object in forty is a cycle that a collection takes away.
RARELY = (2_000_000, 50, 1_000)


def collect_rarely_to_the_end() -> None:
    """Collect rarely in a program that ends with its command, and not at all when it ends.

    Python's last collection visits all that is left, and the system takes it back anyway.
    """
    gc.set_threshold(*RARELY)
    atexit.register(gc.freeze)


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Collect rarely inside, and as before afterwards."""
    before = gc.get_threshold()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)
