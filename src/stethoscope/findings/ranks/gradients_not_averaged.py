"""Training runs the bare network, so that no rank hears of the others' gradients.

## What it checks
Programs that wrap a network in DistributedDataParallel: whether the runs whose losses are minimised call
`model.module`, the network from before the wrapping, or what `unwrap_model` gave, and none calls the wrapper;
and whether every backward pass is inside `no_sync()`. Programs that make a group of processes and divide the
data among them: whether anything wraps the network or reduces gradients at all.

## Why it matters
The wrapper prepares the exchange of gradients in its own forward pass. Without it each rank trains a network
of its own on its share of the data. Nothing fails: the log of the first rank looks like a run with a smaller
batch, and what is saved has learned from one share only.

## When it is harmless
Evaluation, saving and sampling may use the bare network. Where the program reduces the gradients by itself
(`dist.all_reduce(p.grad)`), or lets the last of several backward passes synchronise, all is well.

## References
- torch.nn.parallel.DistributedDataParallel, `no_sync`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.ranks.unsynchronised import never_synchronised, runs_past_wrapper
from stethoscope.program.ranks.unwrapped import never_shared
from stethoscope.signals.processes import Processes

RULE = Rule(code="RNK140", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(processes: Processes) -> Iterator[Finding]:
    """Report trained runs past the wrapper, and contexts that keep every backward pass from the others."""
    seen: set[object] = set()
    for ranks in processes.ranks:
        for past in runs_past_wrapper(ranks):
            if past.run.node not in seen:
                seen.add(past.run.node)
                yield Finding(
                    (past.run.where, past.wrapper.where),
                    f"`{past.written}` trains the bare network: each rank keeps its gradients to itself",
                    evidence={"run": past.run.text, "wrapper": past.wrapper.text},
                )
        for site, context in never_synchronised(ranks):
            if context.node not in seen:
                seen.add(context.node)
                before = "" if isinstance(context.node, ast.Call) else " before an update"
                yield Finding(
                    (context.source.where(context.node), site.where),
                    f"every backward pass{before} is inside no_sync(): the ranks never exchange gradients",
                    evidence={"backward": site.text},
                )
        for begun, backward in never_shared(ranks):
            if backward.node not in seen:
                seen.add(backward.node)
                yield Finding(
                    (backward.where, begun.where),
                    "each rank trains a network of its own: nothing wraps it or reduces its gradients",
                    evidence={"backward": backward.text, "group": begun.text},
                )
