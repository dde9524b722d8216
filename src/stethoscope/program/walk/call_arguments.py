"""The arguments of a call as values; `*sequence` and `**mapping` are taken apart where they are known."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stethoscope.program.walk.opened_outputs import opened_output
from stethoscope.program.walk.values import Items, Settings, Table, Value

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution
    from stethoscope.program.walk.frames import Frame

SPREAD = "**"  # the keyword under which an unresolved `**mapping` is given
STARRED = "*"  # the same for an unresolved `*sequence`


def call_arguments(
    run: Execution, node: ast.Call, frame: Frame
) -> tuple[list[Value], dict[str, Value], bool]:
    """The arguments, and whether all of them are known by name."""
    args: list[Value] = []
    keywords: dict[str, Value] = {}
    complete = True
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            given = run.force(run.evaluate(arg.value, frame))
            spread = opened_output(run, given) or given  # `loss(*net(x))`: each output by itself
            args.extend(spread.items if isinstance(spread, Items) else [])
            if not isinstance(spread, Items):
                keywords[STARRED] = spread
                complete = False
        else:
            args.append(run.evaluate(arg, frame))
    for keyword in node.keywords:
        value = run.evaluate(keyword.value, frame)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
            continue
        spread = run.force(value)
        if isinstance(spread, Table):
            for name, item in spread.entries.items():
                keywords.setdefault(str(name), item)
            complete = complete and not spread.rest
        elif isinstance(spread, Settings) and isinstance(spread.tree, dict):
            for name in spread.tree:
                keywords.setdefault(name, run.part(spread, name))
        else:
            keywords[SPREAD] = spread
            complete = False
    return args, keywords, complete
