"""A checkpoint holds the parameters of a network and not its buffers.

## What it checks
`torch.save` of a dictionary that is made from every `named_parameters()` of a network with batch
normalisation, without a condition that picks some of them.

## Why it matters
The running statistics of the normalisation are buffers. A network that is loaded from such a file
normalises by what it was made with, and in evaluation mode its output is far from that of the network that
was trained.

## When it is harmless
Adapters are saved by their own names, with a condition; networks without batch normalisation have no
statistics.

## References
- `Module.state_dict()` holds both
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.signals.sources import Sources

RULE = Rule(code="RES150", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each checkpoint that is made of parameters alone."""
    if not sources.mention("BatchNorm"):
        return
    for source in sources:
        for call in all_nodes(source.tree):
            if not isinstance(call, ast.Call) or dotted(call.func) != "torch.save" or not call.args:
                continue
            saved = call.args[0]
            if "buffers" in ast.unparse(saved):
                continue
            for part in ast.walk(saved):
                owner = _every_parameter_of(part)
                if owner:
                    yield Finding(
                        source.where(call),
                        f"the checkpoint holds the parameters of {owner} and not its buffers: the "
                        "statistics of its batch normalisation are lost",
                        {"network": owner},
                    )


def _every_parameter_of(node: ast.AST) -> str:
    """The network whose parameters a comprehension takes one by one, all of them."""
    if isinstance(node, ast.Call) and dotted(node.func) == "dict" and node.args:
        node = node.args[0]
        return _owner(node)
    if not isinstance(node, ast.DictComp) or len(node.generators) != 1 or node.generators[0].ifs:
        return ""
    return _owner(node.generators[0].iter)


def _owner(node: ast.AST) -> str:
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(func, ast.Attribute) and func.attr == "named_parameters":
        return dotted(func.value) or "the network"
    return ""
