"""The batch norms that the source trains, and whether they see more than one device's batch."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.weights.layers import kind_of
from stethoscope.run import Program, Run, Where
from stethoscope.signals.missing import NO_SOURCE, Missing

_PLAIN = re.compile(r"^BatchNorm[123]d$")
# Statistics that are shared between devices, frozen, or not kept.
_OTHERWISE = re.compile(
    r"SyncBatchNorm|convert_sync_batchnorm|FrozenBatchNorm|freeze_?bn|bn_?eval|norm_eval|track_running_stats\s*=\s*False"
    r"|momentum\s*=\s*None|update_bn|BatchRenorm|GhostBatchNorm"
    # A batch of one graph or cloud has thousands of points, each of which counts.
    r"|torch_geometric|\bdgl\b|MinkowskiEngine|spconv|torchsparse",
    re.IGNORECASE,
)
_SWITCHES = frozenset(
    {"sync_bn", "syncbn", "sync_batchnorm", "freeze_bn", "norm_eval", "bn_eval", "frozen_bn"}
)


@dataclass(frozen=True, slots=True, eq=False)
class BatchNorms:
    """Where plain batch norms are made; none where statistics are shared, frozen or not kept.

    `dense` says that the network has an answer for each place of a picture and none for the whole: then the
    places of one sample are many samples to a batch norm.
    """

    made: tuple[Where, ...]
    dense: bool


def measure(run: Run) -> BatchNorms | Missing:
    """Look for the layers in the source, and for what takes their statistics elsewhere."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    switched = any(one.leaf.lower() in _SWITCHES and one.value for one in run.recipe or ())
    made, dense = _made(run.program)
    return BatchNorms(() if switched else made, dense)


@remembered
def _made(program: Program) -> tuple[tuple[Where, ...], bool]:
    if any(_OTHERWISE.search(source.text) for source in program):
        return (), False
    calls = [(source, call) for source in program for call in all_nodes(source.tree, ast.Call)]
    kinds = {kind_of(call) for _, call in calls}
    made = tuple(source.where(call) for source, call in calls if _PLAIN.match(kind_of(call)))
    return made, not kinds & {"Linear", "LazyLinear", "BatchNorm1d"}
