"""The score of held-out data that stands beside a choice by the training loss, to choose by instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.edits.statements import blocks_around, is_known_at
from stethoscope.program.evaluation.choosing import Choosing, origins, training_outputs
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Assignment
from stethoscope.run import Source, Splice

HIGHER = frozenset({"acc", "accuracy", "auc", "f1", "psnr", "ssim", "iou", "dice", "map", "bleu", "hits"})


def chosen_by_held_out(choosing: Choosing) -> tuple[Splice, ...]:
    """The score replaced wherever the best is compared and kept, where one of held-out data has a name."""
    handed = choosing.handed_in
    if handed:
        site, written = handed[0]
        source, place = site.source, site.node
    else:
        source, place, written = choosing.source, choosing.comparison, choosing.written
    names = set(_scores(choosing, source, place))
    if len(names) != 1:
        return ()
    name = names.pop()
    spoken = [written] if handed else list(_occurrences(choosing))
    splices = [replaced(source, one, name) for one in spoken]
    return tuple(splice for splice in splices if splice is not None)


def _scores(choosing: Choosing, source: Source, place: ast.AST) -> Iterator[str]:
    """The names of numbers that come from held-out data alone and are known at a place."""
    outputs = training_outputs(choosing.walk)
    for event in choosing.walk.trace.events:
        if not isinstance(event, Assignment) or event.site.source is not source or event.operator:
            continue
        if not isinstance(event.target, ast.Name) or not is_known_at(source, event.site.node, place):
            continue
        if HIGHER & set(words(event.target.id)) and not HIGHER & set(words(choosing.text)):
            continue  # what is better the higher cannot take the place of a loss
        if origins(choosing.walk, event.value, outputs) == (False, True):
            yield event.target.id


def _occurrences(choosing: Choosing) -> Iterator[ast.expr]:
    """The score in the comparison, and in what the statements from there on keep as the best."""
    source, written = choosing.source, ast.unparse(choosing.written)
    sides = (choosing.comparison.left, *choosing.comparison.comparators)
    best = next(ast.unparse(side) for side in sides if side is not choosing.written)
    block, position = blocks_around(source, choosing.comparison)[0]
    for statement in block[position:]:
        nodes = all_nodes(statement)
        if not any(isinstance(one, ast.expr) and ast.unparse(one) == best for one in nodes):
            continue
        yield from (one for one in nodes if isinstance(one, ast.expr) and ast.unparse(one) == written)
