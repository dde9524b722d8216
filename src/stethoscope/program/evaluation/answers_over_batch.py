"""Answers that are taken over the samples of a batch, and compared with the labels of these samples."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

MOVING = frozenset({"to", "cuda", "cpu", "long", "detach", "view", "squeeze", "flatten", "reshape", "float"})
CHOOSING = frozenset({"argmax", "max", "topk"})


@dataclass(frozen=True, slots=True, eq=False)
class OverBatch:
    """Where the largest output is taken over the samples, and where it is compared with their labels."""

    chosen: Site
    compared: Site


def answers_over_batch(index: Index) -> Iterator[OverBatch]:
    """Every comparison of a batch's labels with the number of a sample instead of a class."""
    for module in index.modules.values():
        source = module.source
        if is_test(source) or not any(word in source.text for word in ("argmax", "max(", "topk")):
            continue
        loops = [node for node in all_nodes(source.tree, ast.For) if isinstance(node, ast.For)]
        blocks: list[ast.For | ast.FunctionDef] = [*loops, *_steps(source.tree)]
        for block in blocks:
            for chosen, compared in _in_block(block):
                yield OverBatch(Site(source, chosen), Site(source, compared))
        for picked, held in _in_metrics(source.tree):
            yield OverBatch(Site(source, picked), Site(source, held))


def _in_metrics(tree: ast.Module) -> Iterator[tuple[ast.Call, ast.AST]]:
    """Choices in what a Hugging Face Trainer computes its metrics by: `p.predictions.argmax(0)`.

    The first axis of what it hands over is always that of the samples.
    """
    given = {
        word.value.id
        for call in all_nodes(tree, ast.Call)
        if isinstance(call, ast.Call)
        for word in call.keywords
        if word.arg == "compute_metrics" and isinstance(word.value, ast.Name)
    }
    for function in all_nodes(tree, ast.FunctionDef):
        if not isinstance(function, ast.FunctionDef) or function.name not in given:
            continue
        nodes = list(all_nodes(function))
        drawn, outputs = _metric_names(function, nodes)
        for node in nodes:
            call = _over_samples(node, drawn, outputs) if isinstance(node, ast.Call) else None
            if call is not None:
                yield call, next((one for one in nodes if _is_compared(one, call)), call)


def _is_compared(node: ast.AST, call: ast.Call) -> bool:
    """`p.predictions.argmax(0) == p.label_ids`."""
    return isinstance(node, ast.Compare) and any(one is call for one in ast.walk(node))


def _metric_names(function: ast.FunctionDef, nodes: list[ast.AST]) -> tuple[set[str], set[str]]:
    """The names of labels and of predictions in a function that gets both as one thing."""
    whole = {arg.arg for arg in function.args.args}
    drawn, outputs = set(whole), {"predictions", "logits"}
    for node in nodes:
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)])], value=ast.Name(id=name)
            ) if name in whole:
                outputs.add(first)
                drawn.add(second)
    return drawn, outputs


def _steps(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The methods that a framework calls with a batch."""
    for node in all_nodes(tree, ast.FunctionDef):
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_step") and _batch_of(node):
            yield node


def _batch_of(step: ast.FunctionDef) -> set[str]:
    """The parameter that holds the batch: by its name, or the first of those that frameworks call."""
    names = [arg.arg for arg in step.args.args[1:]]
    first = names[:1] if step.name in {"training_step", "validation_step", "test_step"} else []
    return {*first, *{"batch", "inputs", "data"}.intersection(names)}


def _in_block(loop: ast.For | ast.FunctionDef) -> Iterator[tuple[ast.Call, ast.Compare]]:
    drawn = _drawn(loop)
    if len(drawn) < 2:
        return
    outputs = {
        target.id
        for node in all_nodes(loop, ast.Assign)
        if _is_output(node.value, drawn)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    chosen = dict(_choices(loop, drawn, outputs))
    for node in all_nodes(loop):
        if not (isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq)):
            continue
        for answer, label in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            bare = _unmoved(answer)
            call = chosen.get(bare.id) if isinstance(bare, ast.Name) else _over_samples(bare, drawn, outputs)
            told = _unmoved(label)
            if call is not None and isinstance(told, ast.Name) and told.id in drawn:
                yield call, node


def _drawn(loop: ast.For | ast.FunctionDef) -> set[str]:
    """The names that a batch has in a loop or a step, also where it is taken apart in its first lines."""
    if isinstance(loop, ast.FunctionDef):
        names = _batch_of(loop)
    else:
        names = {node.id for node in all_nodes(loop.target, ast.Name)}
    for node in loop.body:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id=name)) if name in names:
                names |= {part.id for part in parts if isinstance(part, ast.Name)}
    return names


def _choices(
    loop: ast.For | ast.FunctionDef, drawn: set[str], outputs: set[str]
) -> Iterator[tuple[str, ast.Call]]:
    """The names that such answers are kept under: `pred = out.argmax(0)`, `_, pred = out.max(0)`."""
    for node in all_nodes(loop):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                call = _over_samples(_unmoved(value), drawn, outputs)
            case ast.Assign(targets=[ast.Tuple(elts=[_, ast.Name(id=name)])], value=value):
                call = _over_samples(_unmoved(value), drawn, outputs)
            case _:
                continue
        if call is not None:
            yield name, call


def _over_samples(node: ast.expr, drawn: set[str], outputs: set[str]) -> ast.Call | None:
    """A choice along the first axis of what a network gives for the batch."""
    if isinstance(node, ast.Subscript):  # `out.max(0)[1]`
        node = node.value
    if isinstance(node, ast.Attribute) and node.attr == "indices":
        node = node.value
    if not (isinstance(node, ast.Call) and bare_name(node) in CHOOSING):
        return None
    is_function = (
        isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and (node.func.value.id in {"torch", "np", "numpy"})
    )
    if is_function:
        held, rest = (node.args[0], node.args[1:]) if node.args else (None, [])
    else:
        held, rest = getattr(node.func, "value", None), node.args
    axis = next((k.value for k in node.keywords if k.arg in {"dim", "axis"}), rest[0] if rest else None)
    is_first = isinstance(axis, ast.Constant) and axis.value == 0 and axis.value is not False
    if held is None or not is_first or bare_name(node) == "topk":
        return None
    held = _unmoved(held)
    is_output = _named(held) in outputs
    return node if is_output or _is_output(held, drawn) else None


def _is_output(node: ast.expr, drawn: set[str]) -> bool:
    """What is called with the batch alone: `net(x)`, `self.model(x.to(device))`."""
    node = _unmoved(node)
    if not (isinstance(node, ast.Call) and len(node.args) == 1 and bare_name(node) not in CHOOSING | MOVING):
        return False
    given = _unmoved(node.args[0])
    named = bare_name(node)
    networks = ("net", "model", "forward", "classifier", "encoder")
    is_network = named == "self" or "model" in words(named) or any(one in named.lower() for one in networks)
    return is_network and isinstance(given, ast.Name) and given.id in drawn


def _named(node: ast.expr) -> str:
    return str(getattr(node, "id", getattr(node, "attr", "")))


def _unmoved(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MOVING:
        node = node.func.value
    return node
