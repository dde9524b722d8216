"""A parameter is made of memory that nobody fills.

## What it checks
`nn.Parameter(torch.empty(...))` as an attribute of a module, where nothing in the program initialises it:
no call of an initialiser, no assignment and no in-place change that names the attribute, no general
initialiser that is applied to every module, and no weights that are loaded.

## Why it matters
The parameter begins as whatever the memory held before: zeros in one run, 1e30 or NaN in the next. The run
fails now and then, and never in the same way.

## When it is harmless
A parameter that a checkpoint fills needs no other beginning: where the program loads weights, nothing is
reported.

## References
- `torch.empty`: the values are not initialised
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.run import Source
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD150", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

# What fills parameters without naming them.
_FILLS = ("load_state_dict", "from_pretrained", ".apply(", "_init_weights", "for p in", "parameters():")
_EMPTY = frozenset({"torch.empty", "torch.Tensor", "torch.FloatTensor", "torch.empty_like"})


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each parameter that is never filled."""
    if sources.mention(*_FILLS):
        return
    for source in sources:
        for module in all_nodes(source.tree):
            if isinstance(module, ast.ClassDef) and "torch.empty" in source.text:
                yield from _in_class(source, module, sources)


def _in_class(source: Source, module: ast.ClassDef, sources: Sources) -> Iterator[Finding]:
    for node in all_nodes(module):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not _is_empty(node.value):
            continue
        name = (dotted(node.targets[0]) or "").removeprefix("self.")
        if not name or "." in name or _is_filled(name, sources):
            continue
        yield Finding(
            source.where(node),
            f"self.{name} is made of memory that nothing fills: its first values are whatever was there",
            {"parameter": name, "module": module.name},
            proof="torch.empty leaves its values as they are, and nothing in the source sets them",
        )


def _is_empty(value: ast.expr) -> bool:
    """`nn.Parameter(torch.empty(...))` with a size."""
    if (
        not isinstance(value, ast.Call)
        or (dotted(value.func) or "").rpartition(".")[2] != "Parameter"
        or not value.args
    ):
        return False
    inner = value.args[0]
    if not isinstance(inner, ast.Call) or dotted(inner.func) not in _EMPTY or not inner.args:
        return False
    return not any(isinstance(one, ast.Constant) and one.value == 0 for one in inner.args)


def _is_filled(name: str, sources: Sources) -> bool:
    """Whether anything but arithmetic names the attribute: an initialiser, a slice, an in-place method."""
    word = re.escape(name)
    setting = re.compile(
        rf"(?:init|fill|reset|copy|zeros|ones|normal|uniform|constant|trunc|orthogonal|kaiming|xavier)\w*\([^)]*\b{word}\b"
        rf"|\b{word}(?:\.data)?(?:\[[^\]]*\])?\s*(?:=(?!=)\s*(?!.*torch\.empty)|\+=)|\b{word}(?:\.data)?\.\w+_\("
    )
    return any(setting.search(line) for source in sources for line in source.text.splitlines())
