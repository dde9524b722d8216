"""Which values are the output of a network, and which were made from one.

A network is an object of a class that learns, a layer from outside, or an unknown callable that nothing in
its name speaks against.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.walk.learning_classes import LEARNING_LAYERS, has_parameters, learns
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Part,
    Value,
    inputs,
)

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution

# fmt: off
DETACHING = frozenset({
    "detach", "detach_", "item", "numpy", "tolist", "data", "argmax", "eq", "round",
})
# fmt: on
BEFORE_CREATE_GRAPH = 5  # outputs, inputs, grad_outputs and retain_graph stand in front of it
# Callables that make or move things rather than predict.
NO_MODEL_WORDS = frozenset(
    {
        "make",
        "build",
        "create",
        "get",
        "setup",
        "load",
        "loader",
        "init",
        "prepare",
        "parse",
        "dataset",
        "next",
    }
    | {"transform", "transforms", "device", "log", "print", "sample", "read", "collate", "open", "config"}
)
MODEL_WORDS = frozenset(
    {
        "model",
        "net",
        "network",
        "generator",
        "encoder",
        "decoder",
        "head",
        "backbone",
        "module",
        "forward",
        "g",
    }
)


def is_network_pass(index: Index, value: Value, with_scales: bool = False) -> bool:
    """Whether a value is the output of a module that learns; optionally of one with only scales to learn."""
    if isinstance(value, Applied) and value.callee.endswith("()") and value.callee != "()":
        return any(word in value.callee for word in LEARNING_LAYERS) or value.callee.endswith("Sequential()")
    if not isinstance(value, Delayed) or not isinstance(value.callee, FunctionValue):
        return False
    bound = value.callee.bound
    return (
        value.callee.function.name in {"forward", "__call__"}
        and isinstance(bound, Instance)
        and (has_parameters(index, bound.cls) if with_scales else learns(index, bound.cls))
    )


def is_model_call(index: Index, value: Value) -> bool:
    """Whether a value is what a network gave back: one of the repository, or an unknown callable."""
    if is_network_pass(index, value):
        return True
    if not isinstance(value, Applied) or value.callee != "()":
        return False
    return not NO_MODEL_WORDS.intersection(words(callable_name(value.args[0])))


def comes_from_model(run: Execution, value: Value, detached_counts: bool = True) -> bool:
    """Whether a value was made from a network's output; optionally only where gradients still reach it."""
    known = run.from_model if detached_counts else run.with_gradient
    waiting: list[tuple[Value, bool]] = [(value, False)]
    while waiting:
        current, is_done = waiting.pop()
        if is_done:
            # Keys are ids, so the value is kept alive beside the answer.
            known[id(current)] = (
                any(known[id(i)][0] for i in _leading(run, current) if id(i) in known),
                current,
            )
        elif id(current) not in known:
            known[id(current)] = (_is_output(run, current, detached_counts), current)
            if not known[id(current)][0] and not _is_barrier(current, detached_counts):
                waiting.append((current, True))
                waiting.extend((i, False) for i in _leading(run, current) if id(i) not in known)
    return known[id(value)][0]


def _is_output(run: Execution, value: Value, detached_counts: bool) -> bool:
    return not _is_barrier(value, detached_counts) and is_model_call(run.index, value)


def _is_barrier(value: Value, detached_counts: bool) -> bool:
    """Values behind which a network's output does not show."""
    if isinstance(value, Instance | FunctionValue) or is_about_shape(value):
        return True
    return not detached_counts and isinstance(value, Applied) and detaches(value)


def _leading(run: Execution, value: Value) -> Iterator[Value]:
    """The inputs of a value that matter for what it holds."""
    if isinstance(value, Part) and value.key == "*" and not _is_named_model(run.index, value.base):
        return  # an element of a data set, however that was made
    yield from inputs(value)


def _is_named_model(index: Index, value: Value) -> bool:
    if is_network_pass(index, value):
        return True
    if not isinstance(value, Applied) or value.callee != "()":
        return False
    return bool(MODEL_WORDS.intersection(words(callable_name(value.args[0]))))


def is_about_shape(value: Value) -> bool:
    """Sizes, types and devices tell nothing of what a tensor holds."""
    if isinstance(value, Part):
        return value.key in {"shape", "device", "dtype", "ndim"}
    return isinstance(value, Applied) and value.callee in {
        ".size",
        ".dim",
        ".numel",
        "len",
        ".type",
        ".new_zeros",
    }


def detaches(value: Applied) -> bool:
    """Whether a call cuts gradients off."""
    last = value.callee.rpartition(".")[2]
    return value.callee in {"float", "int"} or last in DETACHING or is_bare_gradient(value)


def is_bare_gradient(value: Applied) -> bool:
    """Whether a value is a gradient that was taken without a graph, so that nothing is learned from it."""
    if value.callee != "torch.autograd.grad":
        return False
    graph = value.keywords.get("create_graph")
    if graph is None:
        return "**" not in value.keywords and len(value.args) < BEFORE_CREATE_GRAPH
    return isinstance(graph, Constant) and graph.value is False


def callable_name(value: Value) -> str:
    """The name that an unresolved callable goes by."""
    if isinstance(value, Part):
        return (
            str(value.key) if isinstance(value.key, str) and value.key != "*" else callable_name(value.base)
        )
    if isinstance(value, Applied) and value.callee != "()" and value.args:
        return callable_name(value.args[0])
    return getattr(value, "name", "")
