"""Values that were computed without recording gradients: what a `with torch.no_grad()` gives names to.

What they are made of there has no gradients either, whether it got a name or not.

Lines of the functions that were called there do not show it: they record gradients where others call them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from stethoscope.program.index import dotted
from stethoscope.program.loop.gradient_modes import OFF
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.values import Applied, Delayed, Items, Part, Site, Value, inputs

MOST_MADE = 200

Unrecorded = dict[int, tuple[Site, Value]]  # by the id of a value, which is kept alive beside its place


@contextmanager
def noting_unrecorded(
    known: Unrecorded, node: ast.With | ast.AsyncWith, context: ast.expr, frame: Frame
) -> Iterator[None]:
    """Note what gets a name in the body of a `with` that switches gradients off."""
    if not _switches_off(context):
        yield
        return
    before = dict(frame.names)
    yield
    site = Site(frame.module.source, context)
    old = {id(value) for value in before.values()}
    named = [value for value in frame.names.values() if id(value) not in old]
    known.update({id(value): (site, value) for value in (*named, *_made_in(node, site, named))})


def _made_in(node: ast.With | ast.AsyncWith, site: Site, named: list[Value]) -> Iterator[Value]:
    """What was computed in the lines of a body on the way to the values that got names there."""
    waiting, seen = list(named), set[int]()
    while waiting and len(seen) < MOST_MADE:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Applied | Delayed) and _lies_in(value.site, node, site):
            yield value
            waiting.extend(inputs(value))
        elif isinstance(value, Part | Items):
            waiting.extend(inputs(value))


def _lies_in(made: Site, node: ast.With | ast.AsyncWith, site: Site) -> bool:
    line = getattr(made.node, "lineno", 0)
    return made.source is site.source and node.lineno <= line <= (node.end_lineno or node.lineno)


def _switches_off(context: ast.expr) -> bool:
    if not isinstance(context, ast.Call) or context.args or context.keywords:
        return False
    return (dotted(context.func) or "").rpartition(".")[2] in OFF
