"""Lists that stay short: the first few, and how many more there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rich.text import Text

from stethoscope.report.line import Line

SHOWN = 3  # how many of the lesser things are shown without --verbose

Item = TypeVar("Item")


def short_list(
    items: Sequence[Item], lines: Callable[[Item], Iterable[Line]], verbose: bool
) -> Iterator[Line]:
    """The lines of the first items, or of all of them."""
    for item in items if verbose else items[:SHOWN]:
        yield from lines(item)
    if not verbose and len(items) > SHOWN:
        yield Line(Text(f"and {len(items) - SHOWN:,} more; --verbose shows them"), indent=2)
