"""Whether the blocks of a transformer norm what they add up, or only what goes into a branch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.weights.layers import kind_of
from stethoscope.run import Program, Source, Where

_NORM = re.compile(r"norm|(?:^|_)ln(?:_?\d|_|$)", re.IGNORECASE)
_BRANCH = re.compile(r"att|mlp|ffn?|feed|dropout|drop|sublayer|linear|branch|block|resid", re.IGNORECASE)
_LAYERS = frozenset({"TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"})
_STACKS = frozenset({"TransformerEncoder", "TransformerDecoder", "deepcopy", "_get_clones", "clones"})


@dataclass(frozen=True, slots=True, eq=False)
class NormPlacement:
    """Where sums are normed (`behind`) and where branches are (`before`).

    `chosen` says that an expression decides it for torch's own layers.
    """

    behind: tuple[Where, ...]
    before: tuple[Where, ...]
    chosen: bool


@remembered
def norm_placement(program: Program) -> NormPlacement:
    """Look at every sum with a branch, and at torch's own transformer layers."""
    behind: list[Where] = []
    before: list[Where] = []
    chosen = False
    for source in program:
        behind += [source.where(node) for node in _normed_sums(source)]
        before += [source.where(node) for node in _normed_branches(source)]
        for call, first in _torch_layers(source):
            chosen = chosen or first is None
            if first is not None:
                (before if first else behind).append(source.where(call))
    return NormPlacement(tuple(behind), tuple(before), chosen)


def _normed_sums(source: Source) -> Iterator[ast.Call]:
    """`self.norm1(x + self.attention(x))`."""
    for call in all_nodes(source.tree, ast.Call):
        name = dotted(call.func) or ""
        if not name.startswith("self.") or not _NORM.search(name.rpartition(".")[2]) or len(call.args) != 1:
            continue
        match call.args[0]:
            case ast.BinOp(op=ast.Add(), left=left, right=right) if _is_branch(left) or _is_branch(right):
                yield call


def _normed_branches(source: Source) -> Iterator[ast.BinOp]:
    """`x + self.attention(self.norm1(x))`."""
    for joined in all_nodes(source.tree, ast.BinOp):
        if isinstance(joined.op, ast.Add):
            for side in (joined.left, joined.right):
                inner = [one for one in all_nodes(side, ast.Call) if one is not side]
                normed = any(_NORM.search((dotted(one.func) or "").rpartition(".")[2]) for one in inner)
                if _is_branch(side) and normed:
                    yield joined


def _is_branch(node: ast.expr) -> bool:
    name = dotted(node.func) or "" if isinstance(node, ast.Call) else ""
    return name.startswith("self.") and _BRANCH.search(name.rpartition(".")[2]) is not None


def _torch_layers(source: Source) -> Iterator[tuple[ast.Call, bool | None]]:
    """torch's own layers, with whether they norm first; None where an expression says.

    One layer by itself, in no stack and no list, starts as well as one that norms first, and counts as such.
    """
    listed = {
        id(one)
        for holder in all_nodes(source.tree, ast.ListComp, ast.GeneratorExp, ast.For, ast.List)
        for one in all_nodes(holder, ast.Call)
    }
    calls = all_nodes(source.tree, ast.Call)
    is_stacked = any(kind_of(one) in _STACKS for one in calls)
    for call in calls:
        if kind_of(call) in _LAYERS and (dotted(call.func) or "").startswith(("nn.", "torch.nn.")):
            is_alone = kind_of(call) != "Transformer" and not is_stacked and id(call) not in listed
            given = next((one.value for one in call.keywords if one.arg == "norm_first"), None)
            if given is None:
                yield call, is_alone
            else:
                yield call, bool(given.value) if isinstance(given, ast.Constant) else None
