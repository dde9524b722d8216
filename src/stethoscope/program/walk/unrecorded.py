"""Values that were computed without recording gradients, by the names they got in a `with torch.no_grad()`.

Lines of the functions that were called there do not show it: they record gradients where others call them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from stethoscope.program.index import dotted
from stethoscope.program.loop.gradient_modes import OFF
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.values import Site, Value

Unrecorded = dict[int, tuple[Site, Value]]  # by the id of a value, which is kept alive beside its place


@contextmanager
def noting_unrecorded(known: Unrecorded, context: ast.expr, frame: Frame) -> Iterator[None]:
    """Note what gets a name in the body of a `with` that switches gradients off."""
    if not _switches_off(context):
        yield
        return
    before = dict(frame.names)
    yield
    _note(known, Site(frame.module.source, context), before, frame.names)


def _note(known: Unrecorded, site: Site, before: Mapping[str, Value], after: Mapping[str, Value]) -> None:
    old = {id(value) for value in before.values()}
    known.update({id(value): (site, value) for value in after.values() if id(value) not in old})


def _switches_off(context: ast.expr) -> bool:
    if not isinstance(context, ast.Call) or context.args or context.keywords:
        return False
    return (dotted(context.func) or "").rpartition(".")[2] in OFF
