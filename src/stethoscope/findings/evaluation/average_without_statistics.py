"""The average of the weights is evaluated with the normalisation statistics it began with.

## What it checks
A copy of a network (`deepcopy`) that is put into evaluation mode, and a loop over the parameters of both
that moves the copy; neither the function nor the class around the loop speaks of buffers or of a state
dict, and the network has batch normalisation, of its own or in a network of torchvision or timm. Also an
`AveragedModel` of equal shares that is evaluated or saved, where nothing computes its statistics
(`update_bn`).

## Why it matters
The running means and variances are buffers, not parameters. The copy keeps those of an untrained network,
so its scores are far below those of the weights it averages, or nonsense. An `AveragedModel` takes over those
of the last network that went into it, which is another one than the average of many.

## When it is harmless
A network without batch normalisation has no such buffers. An average that only gives targets in training
mode does not use them. Where buffers are copied or averaged elsewhere, or the average itself is run in
training mode to count them, nothing is reported. An exponential average is close to its last network.

## References
- `torch.optim.swa_utils.AveragedModel(use_buffers=True)`, `update_bn`
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

RULE = Rule(code="EVA150", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

_KEEPS_STATISTICS = re.compile(r"buffers|state_dict\(|update_bn|running_mean")
_COMPUTES_STATISTICS = re.compile(
    r"update_bn\(|bn_update\(|use_buffers|running_mean|reset_running_stats|buffers\("
)
# Networks of torchvision, timm and the like that have batch normalisation inside.
_LIBRARY_NETWORKS = re.compile(
    r"\b(?:(?:wide_|cspp?)?res(?:net|next)(?:\d+|v2)?\w*|densenet\d+|efficientnet_\w+|mobilenet_?v\d\w*|"
    r"shufflenet_\w+|regnet\w+|mnasnet\w+|vgg\d+_bn|inception_v\d|googlenet)\(|"
    r"create_model\(\s*[\"'](?:(?:tf_)?efficientnet|res(?:net|next)|mobilenetv\d|regnet|densenet|darknet)"
)
_MOVES = frozenset({"mul_", "lerp_", "copy_", "add_"})


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each average that leaves the statistics of its copy behind."""
    if not (sources.mention("BatchNorm") or any(_LIBRARY_NETWORKS.search(source.text) for source in sources)):
        return
    if not any(_COMPUTES_STATISTICS.search(source.text) for source in sources):
        for source in sources:
            yield from _of_equal_shares(source)
    for source in sources:
        copies = _copies_in_evaluation(source) if "deepcopy" in source.text else set()
        for function in all_nodes(source.tree):
            if copies and isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _in_function(source, function, copies)


def _of_equal_shares(source: Source) -> Iterator[Finding]:
    """`AveragedModel(net)` that is updated and used, and never runs in training mode to count statistics."""
    if "AveragedModel(" not in source.text:
        return
    called = [node for node in all_nodes(source.tree, ast.Call) if isinstance(node.func, ast.Attribute)]
    for node in all_nodes(source.tree, ast.Assign):
        made, name = node.value, dotted(node.targets[0])
        if not isinstance(made, ast.Call) or (dotted(made.func) or "").rpartition(".")[2] != "AveragedModel":
            continue
        if (
            name is None
            or len(made.args) > 2
            or any("avg_fn" in (word.arg or "avg_fn") for word in made.keywords)
        ):
            continue
        asked = {
            one.func.attr
            for one in called
            if isinstance(one.func, ast.Attribute) and dotted(one.func.value) == name
        }
        if "update_parameters" in asked and "train" not in asked and _is_used(source, name):
            yield Finding(
                source.where(node),
                f"nothing computes the statistics of {name}: its batch normalisation has those of the last "
                "network that went into the average",
                {"average": name},
                strength=0.9,
            )


def _is_used(source: Source, name: str) -> bool:
    """Whether an average is run, handed on or saved."""
    for call in all_nodes(source.tree, ast.Call):
        given = [*call.args, *(word.value for word in call.keywords)]
        if dotted(call.func) == name or any(dotted(one) == name for one in given):
            return True
        if dotted(call.func) in {f"{name}.state_dict", f"{name}.module.state_dict", f"{name}.eval"}:
            return True
    return False


def _in_function(
    source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef, copies: set[str]
) -> Iterator[Finding]:
    if _KEEPS_STATISTICS.search(ast.unparse(_around(source, function))):
        return
    for loop in all_nodes(function):
        average = _averaged(loop)
        if average and average.rpartition(".")[2] in copies:
            yield Finding(
                source.where(loop),
                f"only the parameters of {average} follow: its batch normalisation keeps the "
                "statistics of the network it was copied from",
                {"average": average},
                strength=0.9,
            )


def _around(source: Source, function: ast.AST) -> ast.AST:
    """The class that a method belongs to, or the function itself."""
    for node in all_nodes(source.tree):
        if isinstance(node, ast.ClassDef) and function in node.body:
            return node
    return function


def _averaged(loop: ast.AST) -> str:
    """The first of two networks whose parameters a loop goes through in pairs, where the loop moves them."""
    if (
        not isinstance(loop, ast.For)
        or not isinstance(loop.iter, ast.Call)
        or dotted(loop.iter.func) != "zip"
    ):
        return ""
    owners = [owner for one in loop.iter.args if (owner := _owner_of_parameters(one)) is not None]
    moves = {
        node.func.attr
        for node in ast.walk(loop)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    return owners[0] if len(owners) == 2 and moves & _MOVES else ""


def _owner_of_parameters(node: ast.expr) -> str | None:
    """The network of `network.parameters()`, by its name where it has one."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parameters":
        return dotted(node.func.value) or ""
    return None


def _copies_in_evaluation(source: Source) -> set[str]:
    """The names of deep copies that are switched to evaluation, where they are made or later."""
    copied: set[str] = set()
    switched: set[str] = set()
    for node in all_nodes(source.tree):
        if isinstance(node, ast.Assign) and "deepcopy(" in (text := ast.unparse(node.value)):
            names = {(dotted(target) or "").rpartition(".")[2] for target in node.targets}
            copied |= names
            switched |= names if text.endswith(".eval()") else set()
        elif isinstance(node, ast.Call) and (name := dotted(node.func) or "").endswith(".eval"):
            switched.add(name.rsplit(".", 2)[-2])
    return copied & switched
