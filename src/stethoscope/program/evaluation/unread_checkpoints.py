"""Weights that are read from a file and go nowhere, and networks that are evaluated as they were made.

torch.load(path)                      what it gives is not kept
state = torch.load(path)              and nothing reads `state`
final = Net()                         made behind the training, given no weights, and evaluated
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# What gives weights back; safetensors' load_model puts them into the network that it gets.
LOADING = frozenset({"torch.load", "safetensors.torch.load_file", "safetensors.torch.load"})
MEASURING = frozenset({
    "evaluate", "eval", "evaluation", "test", "validate", "validation", "accuracy", "score", "predict",
    "inference", "metrics", "benchmark", "acc", "report",
})  # fmt: skip
_GIVING = re.compile(r"load|restore|resume|init|copy|from_pretrained|weights|merge|sync|set_")


@dataclass(frozen=True, slots=True, eq=False)
class Unread:
    """A file of weights that is read for nothing."""

    source: Source
    node: ast.Call
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Untrained:
    """A network that is measured with the weights that it was made with."""

    source: Source
    made: ast.AST
    measured: ast.AST
    name: str
    trained: str


def unread_checkpoints(index: Index) -> Iterator[Unread]:
    """Every read of weights whose result nothing uses."""
    for function in index.functions:
        if is_test(function.source) or "load" not in function.source.text:
            continue
        for statement in own_nodes(function.node):
            match statement:
                case ast.Expr(value=ast.Call() as call) if _loads(index, function.source, call):
                    if not _is_tried(function, statement):
                        yield Unread(function.source, call, "")
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                    if _loads(index, function.source, call) and not _is_read(function, name):
                        yield Unread(function.source, call, name)


def _loads(index: Index, source: Source, call: ast.Call) -> bool:
    name = dotted(call.func) or ""
    head, _, rest = name.partition(".")
    full = index.module_of(source).imports.get(head, head)
    return (f"{full}.{rest}" if rest else full) in LOADING


def _is_tried(function: Function, statement: ast.AST) -> bool:
    """Whether a file is only opened to see if it can be: inside `try`, or to be raised about."""
    return any(
        any(inner is statement for inner in all_nodes(node)) for node in own_nodes(function.node, ast.Try)
    )


def _is_read(function: Function, name: str) -> bool:
    for node in all_nodes(function.node):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load | ast.Del):
            return True
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            return True
        if isinstance(node, ast.Call) and dotted(node.func) in {"locals", "eval", "exec"}:
            return True
    return False


# Networks that are measured as they were made


def untrained_networks(index: Index) -> Iterator[Untrained]:
    """Networks that are made behind a training, of its kind, and measured without any weights."""
    for function in index.bodies:
        if is_test(function.source) or "backward(" not in function.source.text:
            continue
        trained = _trained(function)
        last = max((node.end_lineno or 0 for node in own_nodes(function.node, ast.For)), default=0)
        for name, made in _makings(function) if trained else ():
            twin = next((one for one, call in trained.items() if _alike(call, made)), None)
            if made.lineno <= last or twin is None or name in trained:
                continue
            uses = list(_uses(function, name))
            measured = [one for one in uses if _measures(one, name)]
            if measured and len(measured) == len(uses):
                yield Untrained(function.source, made, measured[0], name, twin)


def _makings(function: Function) -> Iterator[tuple[str, ast.Call]]:
    for node in own_nodes(function.node, ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                while isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
                    call = call.func.value  # Net().to(device)
                yield name, call


def _trained(function: Function) -> dict[str, ast.Call]:
    """The networks of the function whose parameters an optimizer gets, with what made them."""
    given = {
        dotted(call.func.value)
        for call in own_nodes(function.node, ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "parameters"
    }
    makings = list(_makings(function))
    return {
        name: call for name, call in makings if name in given and [n for n, _ in makings].count(name) == 1
    }


def _alike(one: ast.Call, other: ast.Call) -> bool:
    name = dotted(one.func)
    return name is not None and name == dotted(other.func) and name.rpartition(".")[2][:1].isupper()


def _uses(function: Function, name: str) -> Iterator[ast.AST]:
    """The innermost calls around each use of a name."""
    calls = own_nodes(function.node, ast.Call)
    for node in own_nodes(function.node, ast.Name):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        around = [call for call in calls if any(inner is node for inner in all_nodes(call))]
        yield min(around, key=lambda call: (call.end_col_offset or 0) - call.col_offset, default=node)


def _measures(use: ast.AST, name: str) -> bool:
    """`evaluate(net, loader)`, `net(x)`, `net.eval()`."""
    if not isinstance(use, ast.Call):
        return False
    called = dotted(use.func) or ""
    if called in {name, f"{name}.eval", f"{name}.to", f"{name}.cuda"}:
        return True
    last = called.rpartition(".")[2]
    return bool(MEASURING.intersection(words(last))) and not _GIVING.search(last)
