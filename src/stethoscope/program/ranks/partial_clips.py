"""Clips that do not see, or do not reach, the gradients of all ranks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import External, Index, dotted
from stethoscope.program.syntax import all_nodes, children
from stethoscope.run import Source, Where

SHARDED, ONE_RANK = "sharded", "one rank"
_FIRST_RANK = re.compile(
    r"^[\w.]*rank(?:\(\))? == 0$|^[\w.]*\bis_(?:main|master|rank_zero|local_main|global_zero)\w*(?:\(\))?$"
)
_WHOLE = re.compile(r"fully_shard|DTensor|get_total_norm|NO_SHARD|no_shard|deepspeed|ShardedGradScaler\.clip")


@dataclass(frozen=True, slots=True)
class PartialClip:
    """Where a clip is, why it is partial, and where the network was wrapped."""

    where: Where
    kind: str
    wrapped: Where | None = None


def partial_clips(index: Index) -> Iterator[PartialClip]:
    """torch's clip on a network of FSDP's first kind, and clips that one rank makes alone."""
    wrapped = _wrapped(index)
    whole = any(_WHOLE.search(source.text) for source in index.program)
    clips = [(source, call) for source in index.program for call in _clips(index, source)]
    if wrapped is not None and not whole and not _has_own_clip(index):
        for source, call in clips:
            yield PartialClip(source.where(call), SHARDED, wrapped)
    for source in index.program:
        yield from _on_one_rank(source, {call for home, call in clips if home is source})


def _clips(index: Index, source: Source) -> Iterator[ast.Call]:
    if "clip_grad" not in source.text:
        return
    home = index.module_of(source)
    for call in all_nodes(source.tree, ast.Call):
        target = index.resolve(home, dotted(call.func) or "-")
        if isinstance(target, External) and re.fullmatch(
            r"torch\.nn\.utils\.(?:clip_grad\.)?clip_grad_norm_", target.name
        ):
            yield call


def _wrapped(index: Index) -> Where | None:
    for source in index.program:
        if "FullyShardedDataParallel" in source.text:
            home = index.module_of(source)
            for call in all_nodes(source.tree, ast.Call):
                target = index.resolve(home, dotted(call.func) or "-")
                if isinstance(target, External) and target.name.endswith(".FullyShardedDataParallel"):
                    return source.where(call)
    return None


def _has_own_clip(index: Index) -> bool:
    """`model.clip_grad_norm_(1.0)`, which sees all shards."""
    for source in index.program:
        for call in all_nodes(source.tree, ast.Call) if ".clip_grad_norm_(" in source.text else ():
            if isinstance(call.func, ast.Attribute) and call.func.attr == "clip_grad_norm_":
                target = index.resolve(index.module_of(source), dotted(call.func) or "-")
                if not isinstance(target, External):
                    return True
    return False


def _on_one_rank(source: Source, clips: set[ast.Call]) -> Iterator[PartialClip]:
    for test in all_nodes(source.tree, ast.If) if clips else ():
        if not _FIRST_RANK.match(ast.unparse(test.test)):
            continue
        inside: list[ast.AST] = list(test.body)
        has_step = False
        found = []
        while inside:
            node = inside.pop()
            inside += children(node)
            if isinstance(node, ast.Call):
                has_step = has_step or (isinstance(node.func, ast.Attribute) and node.func.attr == "step")
                found += [node] if node in clips else []
        for call in found if not has_step else ():
            yield PartialClip(source.where(call), ONE_RANK)
