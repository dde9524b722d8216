"""What a loop inside a training step runs over: the parts of one batch, or a window of several batches."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.evaluation import names_in
from stethoscope.program.events import Assignment, Scope
from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.training_loop import TrainingLoop

BATCH_WORDS = frozenset({"batch", "minibatch", "microbatch", "mb", "micro"})
# What gives a list of batches that belong together for another reason than to make one large batch.
BESIDE = frozenset({"zip", "zip_longest", "product", "combinations", "CombinedLoader"})
PARTS = frozenset({"chunk", "split", "tensor_split"})  # of a tensor, each as a batch of its own


def spoken_of_micro_batches(loop: TrainingLoop, micro: Scope) -> set[str]:
    """The words in the header of a loop, and in what made that which it runs over."""
    if not isinstance(micro.node, ast.For):
        return set()
    written = [micro.node.iter, micro.node.target, *_made(loop, micro.node.iter)]
    return {word for node in written for name in names_in(node) for word in words(name)}


def is_window_of_batches(loop: TrainingLoop, micro: Scope) -> bool:
    """`for group in windows(loader, 4): for batch in group`, or `for part in batch.chunk(4)`."""
    node, body = micro.node, loop.body
    if not isinstance(node, ast.For) or body is None or not isinstance(body.node, ast.For):
        return False
    if _is_in_parts(node.iter):
        return True
    target = {word for name in names_in(node.target) for word in words(name)}
    called = (one.func for one in ast.walk(body.node.iter) if isinstance(one, ast.Call))
    is_beside = any((dotted(func) or "").rpartition(".")[2] in BESIDE for func in called)
    return bool(target & BATCH_WORDS) and _is_element(node.iter, body.node.target) and not is_beside


def _is_in_parts(node: ast.expr) -> bool:
    """`zip(x.chunk(4), y.chunk(4))`."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in PARTS and len(node.args) == 1
    is_zip = isinstance(node.func, ast.Name) and node.func.id in {"zip", "enumerate"}
    return is_zip and bool(node.args) and all(_is_in_parts(arg) for arg in node.args)


def _is_element(over: ast.expr, target: ast.expr) -> bool:
    """Whether an inner loop runs over what the outer one gives."""
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "enumerate":
        over = over.args[0] if over.args else over
    stored = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    return isinstance(over, ast.Name) and over.id in stored


def _made(loop: TrainingLoop, over: ast.expr) -> Iterator[ast.AST]:
    """The right-hand sides, and the header of the loop around, that gave what an expression names."""
    named = {node.id for node in ast.walk(over) if isinstance(node, ast.Name)}
    for event in loop.events:
        if isinstance(event, Assignment) and isinstance(event.target, ast.Name) and event.target.id in named:
            yield event.site.node
    body = loop.body.node if loop.body is not None else None
    if isinstance(body, ast.For) and _is_element(over, body.target):
        yield body.iter
