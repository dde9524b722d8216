"""What a loop inside a training step runs over: the parts of one batch, or a window of several batches."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator

from stethoscope.program.evaluation.evaluations import names_in
from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Assignment, Scope
from stethoscope.program.walk.values import Applied, Items, Part, Value, inputs

BATCH_WORDS = frozenset({"batch", "minibatch", "microbatch", "mb", "micro"})
# What gives a list of batches that belong together for another reason than to make one large batch.
BESIDE = frozenset({"zip", "zip_longest", "product", "combinations", "CombinedLoader"})
PARTS = frozenset({"chunk", "split", "tensor_split"})  # of a tensor, each as a batch of its own
MOST_LOOKED = 500  # values that a micro-batch, or what a loop runs over, was made from


def spoken_of_micro_batches(loop: TrainingLoop, micro: Scope) -> set[str]:
    """The words in the header of a loop, and in what made that which it runs over."""
    if not isinstance(micro.node, ast.For):
        return set()
    written = [micro.node.iter, micro.node.target, *_made(loop, micro.node.iter)]
    return {word for node in written for name in names_in(node) for word in words(name)}


def is_window_of_batches(loop: TrainingLoop, micro: Scope) -> bool:
    """`for group in windows(loader, 4): for batch in group`, or `for part in batch.chunk(4)`."""
    node, body = micro.node, loop.body
    if isinstance(node, ast.For) and _is_cut_from_loader(micro.value):
        return True
    if not isinstance(node, ast.For) or body is None or not isinstance(body.node, ast.For):
        return False
    if _is_in_parts(node.iter):
        return True
    target = {word for name in names_in(node.target) for word in words(name)}
    called = (one.func for one in all_nodes(body.node.iter, ast.Call))
    is_beside = any((dotted(func) or "").rpartition(".")[2] in BESIDE for func in called)
    return bool(target & BATCH_WORDS) and _is_element(node.iter, body.node.target) and not is_beside


def _is_cut_from_loader(over: Value | None) -> bool:
    """`islice(batches, 4)`, taken again and again of one loader."""
    while isinstance(over, Applied) and over.callee in {"list", "tuple", "iter", "enumerate"} and over.args:
        over = over.args[0]
    if not isinstance(over, Applied) or over.callee.rpartition(".")[2] != "islice" or len(over.args) != 2:
        return False
    makers = (value for value in _behind([over.args[0]]) if isinstance(value, Applied))
    return any(value.callee.rpartition(".")[2] == "DataLoader" for value in makers)


def is_single(micro: Scope) -> bool:
    """Whether a loop over micro-batches gets a list with one of them.

    One element stands for all those of `zip(x.chunk(4), y.chunk(4))`: it is any element of what no loop
    around runs over.
    """
    if not isinstance(micro.value, Items) or len(micro.value.items) != 1 or micro.outer is None:
        return False
    outer = [scope.value for scope in micro.outer.outwards() if scope.kind == "loop"]
    given = {id(value) for value in _behind([value for value in outer if value is not None])}
    elements = _behind(micro.value.items, given)
    return not any(isinstance(value, Part) and value.key == "*" for value in elements)


def _behind(values: list[Value], but: Container[int] = ()) -> Iterator[Value]:
    """Values and what they were made from, but not what is taken from some."""
    waiting, seen = list(values), set[int]()
    while waiting and len(seen) < MOST_LOOKED:
        value = waiting.pop()
        if id(value) in seen or (isinstance(value, Part) and id(value.base) in but):
            continue
        seen.add(id(value))
        yield value
        waiting.extend(inputs(value))


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
    stored = {node.id for node in all_nodes(target, ast.Name)}
    return isinstance(over, ast.Name) and over.id in stored


def _made(loop: TrainingLoop, over: ast.expr) -> Iterator[ast.AST]:
    """The right-hand sides, and the header of the loop around, that gave what an expression names."""
    named = {node.id for node in all_nodes(over, ast.Name)}
    for event in loop.events:
        if isinstance(event, Assignment) and isinstance(event.target, ast.Name) and event.target.id in named:
            yield event.site.node
    body = loop.body.node if loop.body is not None else None
    if isinstance(body, ast.For) and _is_element(over, body.target):
        yield body.iter
