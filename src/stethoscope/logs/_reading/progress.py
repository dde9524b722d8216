"""Tells whoever wants to know how far the reading of a file has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Called with the file's shown name, the bytes read of it, and its size.
Watcher = Callable[[str, int, int], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Within this block, `watcher` is told after every chunk that is read."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def tell(file: str, done: int, size: int) -> None:
    """Report progress; readers that do not stream may call it, too."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(file, done, size)
