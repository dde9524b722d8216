"""Every rank writes the same checkpoint file.

## What it checks
`torch.save` in programs that always run as several processes: whether a condition on the rank, a decorator
or an earlier return keeps it to one of them, or the file's name tells the ranks apart.

## Why it matters
All ranks write to one path at the same time. On a shared disk the file can end up torn, and each save takes
as many times longer as there are ranks.

## When it is harmless
Files that hold each rank's own part (its random state, its shard) are named after the rank. Engines save on
the right rank by themselves.

## References
- torch.distributed.get_rank
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import name_of_module
from stethoscope.program.edits.statements import blocks_around, put_under
from stethoscope.program.evaluation.evaluations import names_in
from stethoscope.program.loop.moves import full_name
from stethoscope.program.ranks.decisions import FIRST, Ranks
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Leaf, Part
from stethoscope.run import Fix, Level
from stethoscope.signals.processes import Processes

# Where parts of the weights are on other ranks, all of them gather what one writes.
SHARDING = ("FullyShardedDataParallel", "fully_shard", "deepspeed", "DTensor", "parallelize_module")

RULE = Rule(code="RNK103", since="0.2", severity=Severity.NOTE, subject=Subject.SOURCE)


def examine(processes: Processes) -> Iterator[Finding]:
    """Report each save that all ranks make to one file."""
    seen: set[ast.AST] = set()
    for ranks in processes.ranks:
        if not _is_always_distributed(ranks):
            continue
        for event in ranks.walk.trace.events:
            if not isinstance(event, Call) or full_name(event) != "torch.save" or event.site.node in seen:
                continue
            if _is_guarded(ranks, event) or _is_named_by_rank(ranks, event):
                continue
            seen.add(event.site.node)
            yield Finding(
                event.site.where,
                "every rank writes this file: nothing keeps the save to one of them",
                evidence={"save": event.site.text},
                fix=_kept_to_one(ranks, event),
            )


def _is_always_distributed(ranks: Ranks) -> bool:
    """Whether the processes are joined without a condition."""
    return any(
        isinstance(event, Call)
        and event.name == "init_process_group"
        and not any(scope.kind == "if" and not _is_main(scope.node) for scope in event.scopes())
        for event in ranks.walk.trace.events
    )


def _is_main(test: ast.AST) -> bool:
    return "__name__" in set(names_in(test))


def _is_guarded(ranks: Ranks, event: Call) -> bool:
    if any(True for _ in ranks.conditions(event)):
        return True
    if any(_speaks_of_rank(scope.node) for scope in event.scopes() if scope.kind in {"if", "with"}):
        return True
    names = [name.rpartition(".")[2] for function in event.within for name in function.decorators]
    return any("rank" in name or "main" in name or FIRST.match(name) for name in names)


def _speaks_of_rank(node: ast.AST) -> bool:
    spoken = [name.lower() for name in names_in(node)]
    return any("rank" in name or "main_process" in name or FIRST.match(name) for name in spoken)


def _is_named_by_rank(ranks: Ranks, event: Call) -> bool:
    if _speaks_of_rank(event.site.node):
        return True
    path = event.argument(1, "f")
    for value in ancestry(ranks.walk.trace.run, path):
        name = value.name if isinstance(value, Leaf) else value.key if isinstance(value, Part) else ""
        if isinstance(name, str) and ("rank" in name.lower() or name == "text"):
            return True
    return False


def _kept_to_one(ranks: Ranks, save: Call) -> Fix | None:
    """The save left to the first rank, where no other is needed to make what it writes."""
    site, trace = save.site, ranks.walk.trace
    distributed = name_of_module(trace.run.index.module_of(site.source).imports, "torch.distributed")
    texts = {event.site.source.file: event.site.source.text for event in trace.events}.values()
    if not distributed or any(word in text for text in texts for word in SHARDING):
        return None
    block, position = blocks_around(site.source, site.node)[0]
    statement = block[position]
    if not isinstance(statement, ast.Expr) or statement.value is not site.node:
        return None
    splice = put_under(site.source, statement, f"if {distributed}.get_rank() == 0:")
    return Fix("save on the first rank alone", Level.SAFE, (splice,)) if splice is not None else None
