"""One way of writing for what can be written in several, before any fact is looked for.

One person writes `-x`, another `-1.0 * x` or `torch.neg(x)`; one gives a loss its arguments by place, one by
name. Facts ask for one form. Each file here knows one question of spelling and changes the tree where another
form means the same; every node keeps its place in the file, so addresses and edits stay where they are.
What is only usually the same is left as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from stethoscope.program.spelling.arguments import settle_arguments
from stethoscope.program.spelling.assignments import settle_assignments
from stethoscope.program.spelling.early_continues import settle_early_continues
from stethoscope.program.spelling.executed_files import settle_executed_files
from stethoscope.program.spelling.indirect_calls import settle_indirect_calls
from stethoscope.program.spelling.operators import settle_operators
from stethoscope.program.spelling.passing_names import settle_passing_names
from stethoscope.program.spelling.sums import settle_sums
from stethoscope.program.spelling.told_names import settle_told_names

__all__ = ["settled"]

_IN_ORDER: tuple[Callable[[ast.Module], None], ...] = (
    settle_indirect_calls,
    settle_assignments,
    settle_early_continues,
    settle_arguments,
    settle_operators,
    settle_sums,
    settle_told_names,
    settle_passing_names,
    settle_executed_files,
)


def settled(tree: ast.Module) -> ast.Module:
    """The tree, with one spelling for each thing; it is changed in place."""
    for settle in _IN_ORDER:
        settle(tree)
    return tree
