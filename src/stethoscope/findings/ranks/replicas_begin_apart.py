"""Each rank begins with weights of its own, and only gradients are averaged.

## What it checks
Programs that average gradients by themselves (`dist.all_reduce(p.grad)`): whether a seed that depends on
the rank is set before the network is made, and nothing sends the weights of one rank to the others. Also
`load_state_dict` of an optimizer, or of a network that DistributedDataParallel has already wrapped, under a
condition on the rank.

## Why it matters
The same step from different weights leads to different weights. The gradients that are averaged belong to
networks that have nothing in common, and the checkpoint of one rank holds a network that no averaging ever
fitted.

## When it is harmless
DistributedDataParallel and FSDP send the weights of the first rank to all. A broadcast, a checkpoint that all
load, or one seed until the network is made has the same effect. Weights that one rank loads before the
wrapper is made reach all.

## References
- torch.distributed.broadcast
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.ranks.parted_replicas import loaded_on_some, parted_replicas
from stethoscope.signals.processes import Processes

RULE = Rule(code="RNK143", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(processes: Processes) -> Iterator[Finding]:
    """Report networks that begin apart."""
    for ranks in processes.ranks:
        for parted in parted_replicas(ranks):
            yield Finding(
                (parted.made.site.where, parted.seed.site.where, parted.averaged.site.where),
                f"every rank makes its network behind `{parted.seed.site.text}`, with weights of its own, "
                "and only gradients are averaged",
                evidence={"seed": parted.seed.site.text},
            )
        for call, condition in loaded_on_some(ranks):
            asked = ast.unparse(condition.node)
            yield Finding(
                (call.site.where, condition.source.where(condition.node)),
                f"only the ranks that pass `{asked}` load this state, and nothing sends it to the others",
                evidence={"call": call.site.text, "condition": asked},
            )
