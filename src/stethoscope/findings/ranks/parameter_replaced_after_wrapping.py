"""A layer or parameter is replaced after the network was wrapped for several processes.

## What it checks
In one block of statements: a network is given to DistributedDataParallel, and after that an attribute of
it, or of the wrapper, is assigned a fresh parameter or layer. Where the network is wrapped again
afterwards, nothing is reported.

## Why it matters
The wrapper hooks the parameters it finds when it is made. One that is put in its place later has no hook:
its gradient is not averaged, each process trains its own copy, and the copies drift apart without an error.

## When it is harmless
In a program that only evaluates, or that runs in one process, nothing is to be averaged.

## References
- `torch.nn.parallel.DistributedDataParallel`: parameters must not change after construction
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.run import Source
from stethoscope.signals.sources import Sources

RULE = Rule(code="RNK150", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

WRAPPERS = ("DistributedDataParallel", "DDP")


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each replacement behind a wrapper."""
    for source in sources:
        if "DistributedDataParallel" in source.text:
            for block in _blocks(source):
                yield from _in_block(source, block)


def _blocks(source: Source) -> Iterator[list[ast.stmt]]:
    for node in all_nodes(source.tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            yield body


def _in_block(source: Source, block: Sequence[ast.stmt]) -> Iterator[Finding]:
    wrapped: dict[str, ast.Call] = {}
    pending: list[Finding] = []
    for statement in block:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, call = statement.targets[0], statement.value
        if isinstance(call, ast.Call) and (dotted(call.func) or "").rpartition(".")[2] in WRAPPERS:
            names = {dotted(target) or "", *(dotted(one) or "" for one in call.args[:1])}
            pending = []  # what was replaced before is known to this wrapper
            wrapped.update({name: call for name in names if name})
        elif isinstance(target, ast.Attribute) and _is_fresh(call):
            owner = next((name for name in wrapped if (dotted(target) or "").startswith(f"{name}.")), None)
            if owner is not None:
                pending.append(_finding(source, target, statement, wrapped[owner]))
    yield from pending


def _is_fresh(value: ast.expr) -> bool:
    """Whether a value is a parameter or layer that is made here."""
    name = dotted(value.func) or "" if isinstance(value, ast.Call) else ""
    return name.rpartition(".")[0] in {"nn", "torch.nn"} or name == "Parameter"


def _finding(source: Source, target: ast.expr, statement: ast.stmt, wrapper: ast.Call) -> Finding:
    return Finding(
        (source.where(statement), source.where(wrapper)),
        f"{dotted(target)} is replaced after the network was wrapped: its gradient is not "
        "averaged over the processes",
        {"replaced": dotted(target), "wrapper": ast.unparse(wrapper)},
        proof="the wrapper hooks the parameters that the network has when it is wrapped, and no others",
    )
