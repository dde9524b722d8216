"""How far a trial is, on standard error, for the commands that run one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stethoscope.trials.conducting import Progress


@contextmanager
def shown_progress() -> Iterator[Callable[[Progress], None]]:
    """A bar on standard error where somebody is watching, else nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("trial"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(progress: Progress) -> None:
            done = progress.stored + progress.done
            going = "; ".join(progress.running[:2])
            bar.update(task, completed=done, total=progress.total, description=going)

        yield tell
