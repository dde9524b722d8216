"""The class that is predicted, sought along the axis of the samples."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.loop.moves import Kind
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.values import Applied, Constant, Value

SEEKING = frozenset({"argmax", "max"})
MODULES = frozenset({"torch", "np", "numpy", "jnp", "F"})
# What leaves the axes of an output as they are.
KEEPING = frozenset({
    "float", "to", "cpu", "cuda", "detach", "contiguous", "double", "half", "softmax", "log_softmax",
    "sigmoid", "numpy", "clone", "exp", "bfloat16", "data",
})  # fmt: skip
DEPTH = 12


def sought_among_samples(walk: Walk) -> Iterator[Call]:
    """The calls that seek the largest score along the first axis, of a network that learns to classify."""
    run = walk.trace.run
    run.steps = max(run.steps, STEPS // 4)
    calls = [event for event in walk.trace.events if isinstance(event, Call) and event.name in SEEKING]
    sought = [call for call in calls if _axis(call) == 0]
    if not sought:
        return
    try:
        if not _classifies(walk):
            return
        for call in sought:
            tensor = call.args[0] if _is_of_module(call) and call.args else call.receiver
            if tensor is not None and _is_output(run, tensor):
                yield call
    except (Exhausted, RecursionError):
        return


def _is_of_module(call: Call) -> bool:
    func = getattr(call.site.node, "func", None)
    base = func.value if isinstance(func, ast.Attribute) else None
    return isinstance(base, ast.Name) and base.id in MODULES


def _axis(call: Call) -> object:
    place = 1 if _is_of_module(call) else 0
    given = call.keywords.get("dim") or call.keywords.get("axis") or call.argument(place, "dim")
    return given.value if isinstance(given, Constant) and not isinstance(given.value, bool) else None


def _is_output(run: Execution, value: Value) -> bool:
    """Whether a value is what a network gave for a batch, its axes as they were."""
    for _ in range(DEPTH):
        value = quietly(run, value)
        if is_model_call(run.index, value):
            return True
        if not isinstance(value, Applied) or not value.args:
            return False
        last = value.callee.rpartition(".")[2]
        if last not in KEEPING:
            return False
        value = value.args[0]
    return False


def _classifies(walk: Walk) -> bool:
    """Whether a cross entropy is minimised of an output as it is, its classes along the second axis."""
    run = walk.trace.run
    for move in walk.moves:
        if move.kind is not Kind.BACKWARD or move.subject is None:
            continue
        for value in ancestry(run, move.subject):
            if isinstance(value, Applied) and value.args:
                last = value.callee.removesuffix("()").rpartition(".")[2]
                if last in {"cross_entropy", "CrossEntropyLoss", "nll_loss", "NLLLoss"}:
                    return _is_output(run, value.args[0])
    return False
