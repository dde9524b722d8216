"""Gradients are clipped by a norm of which each rank knows another part.

## What it checks
torch's own clip on a network that is sharded by FullyShardedDataParallel, and a clip that only the first
rank makes.

## Why it matters
Each rank of a sharded network holds a part of the gradients, and the clip sees that part alone: it divides
by a norm that is too small, and by another one on each rank. What one rank clips alone makes its copy of
the weights drift from the others. The loss looks normal for days.

## When it is harmless
`model.clip_grad_norm_` of FullyShardedDataParallel, the shards of `fully_shard`, which torch's clip knows,
and engines that clip by themselves. A strategy that shards nothing.

## References
- torch.distributed.fsdp.FullyShardedDataParallel.clip_grad_norm_
- BigScience, tr11 chronicles, 2022-03-24
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.ranks.partial_clips import SHARDED
from stethoscope.signals.partial_clips import PartialClips

RULE = Rule(code="RNK137", since="0.3", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(clips: PartialClips) -> Iterator[Finding]:
    """Report each clip that is made by a part of the norm, or on one rank."""
    for clip in clips:
        if clip.kind == SHARDED and clip.wrapped is not None:
            said = "clips by the norm of this rank's shard alone; model.clip_grad_norm_ knows all of them"
            yield Finding((clip.where, clip.wrapped), f"torch.nn.utils.clip_grad_norm_ {said}")
        else:
            yield Finding(
                clip.where, "only the first rank clips its gradients, and all of them make the step"
            )
