"""Pictures are divided by 255 after they have been scaled to one.

## What it checks
Every data set of a file is read with torchvision's `ToTensor`, which divides by 255, and a batch of one of
its loaders is divided by 255 once more.

## Why it matters
The network sees values between 0 and 0.004: black pictures with a little noise. First layers hardly
respond, learning is slow or stops at guessing, and a network that is given ordinary pictures later answers
nonsense.

## When it is harmless
`PILToTensor` and the `ToTensorV2` of Albumentations do not scale. Where a file has data sets without
`ToTensor`, it cannot be told which one a loader reads, and nothing is reported.

## References
- `torchvision.transforms.ToTensor`: scales bytes to [0, 1]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.run import Source
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT151", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

TOP = 255.0


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each division of a batch that is scaled already."""
    for source in sources:
        if "ToTensor()" not in source.text or "255" not in source.text:
            continue
        loaders = _scaled_loaders(source)
        for loop in all_nodes(source.tree):
            batch = _batch_of(loop, loaders)
            for node in ast.walk(loop) if batch else ():
                if _divides(node, batch):
                    yield Finding(
                        source.where(node),
                        f"`{ast.unparse(node)}` divides by 255 what ToTensor has divided by 255 already",
                        {"division": ast.unparse(node)},
                        proof="ToTensor scales bytes to 0..1, so that a second division leaves at most 0.004",
                    )


def _scaled_loaders(source: Source) -> set[str]:
    """The names of loaders, where every data set of the file is made with a transform of ToTensor."""
    made = [node for node in all_nodes(source.tree) if _is_dataset(node)]
    if not made or not all(_is_scaled(node, source) for node in made):
        return set()
    return {
        name
        for node in all_nodes(source.tree, ast.Assign)
        if "DataLoader(" in ast.unparse(node.value)
        for target in node.targets
        if (name := dotted(target))
    }


def _is_dataset(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and any(word.arg == "transform" for word in node.keywords)


def _is_scaled(node: ast.AST, source: Source) -> bool:
    assert isinstance(node, ast.Call)
    given = next(word.value for word in node.keywords if word.arg == "transform")
    if isinstance(given, ast.Name):
        texts = [
            ast.unparse(one.value)
            for one in all_nodes(source.tree, ast.Assign)
            if dotted(one.targets[0]) == given.id
        ]
        return bool(texts) and all("transforms.ToTensor()" in text and "255" not in text for text in texts)
    text = ast.unparse(given)
    return "transforms.ToTensor()" in text and "255" not in text


def _batch_of(loop: ast.AST, loaders: set[str]) -> str:
    """The name of the pictures that a loop takes out of a loader."""
    if isinstance(loop, ast.For):
        target, items = loop.target, loop.iter
    elif isinstance(loop, ast.GeneratorExp | ast.ListComp):
        target, items = loop.generators[0].target, loop.generators[0].iter
    else:
        return ""
    if isinstance(items, ast.Call) and dotted(items.func) in {"tqdm", "enumerate"} and items.args:
        if dotted(items.func) == "enumerate" and isinstance(target, ast.Tuple):
            target = target.elts[1]
        items = items.args[0]
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    return (dotted(first) or "") if dotted(items) in loaders else ""


def _divides(node: ast.AST, batch: str) -> bool:
    """`x / 255`, `x.cuda() / 255.0`, `x.float().div(255)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        left, right = node.left, node.right
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"div", "div_"}
    ):
        left, right = node.func.value, node.args[0] if node.args else node
    else:
        return False
    is_top = isinstance(right, ast.Constant) and right.value == TOP
    return is_top and _root(left) == batch


def _root(node: ast.AST) -> str:
    """The name that a chain of methods begins with."""
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
