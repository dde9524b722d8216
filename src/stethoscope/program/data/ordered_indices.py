"""Batches that are looked up at places counted one after the other, whoever counts them.

`x[order[at : at + size]]` with an order of `arange`, in the loop, in a class or behind a switch of the
settings that is off. Inputs and targets must be looked up at the same places: one array cut alone is often
a text or a series that is read in its order on purpose.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.ingredients import DRAWING
from stethoscope.program.data.stored_order import MIXING, spoken_words
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.objective.loss_masks import is_comparison
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.values import Applied, Constant, Items, Site, Value, is_nothing

COUNTING = frozenset({"arange", "range"})
CHANCE = MIXING | DRAWING | {"randrange", "sample", "RandomSampler", "default_rng", "argsort", "sort", "topk"}
IN_PLACE = frozenset({"shuffle", "shuffle_"})
# What is learnt in the order of time.
IN_TIME = frozenset({
    "bptt", "tbptt", "stateful", "hidden", "rollout", "rollouts", "replay", "online", "horizon", "past",
    "streaming", "buffer", "trajectory", "trajectories", "episode", "episodes", "lag",
})  # fmt: skip
FEWEST = 2  # arrays that are looked up at the same places


def looked_up_in_order(loop: TrainingLoop) -> Iterator[Site]:
    """Where the samples of a training loop are looked up in their stored order."""
    if any(isinstance(event, Call) and event.name in IN_PLACE for event in loop.trace.events):
        return
    loop.run.steps = max(loop.run.steps, STEPS // 4)
    try:
        for move in loop.of(Kind.BACKWARD)[:1]:
            yield from _in_order(loop.run, move.subject)
    except (Exhausted, RecursionError):
        return


def _in_order(run: Execution, loss: Value | None) -> Iterator[Site]:
    """The places in order at which several arrays are looked up for one loss, where no others are mixed."""
    found: dict[str, dict[str, Site]] = {}
    for value in ancestry(run, loss):
        if not (isinstance(value, Applied) and value.callee == "[]" and len(value.args) > 1):
            continue
        node = value.site.node
        if not isinstance(node, ast.Subscript) or _is_by_name(value.args[1]):
            continue
        order = _order(run, _of_samples(value.args[1]))
        if order is None:
            return  # samples are mixed, or come from where nothing is known
        if order and not _is_on_purpose(value.site) and not _chooses_all(value.args[1]):
            found.setdefault(ast.unparse(node.slice), {})[ast.unparse(node.value)] = order[0]
    for bases in found.values():
        if len(bases) >= FEWEST:
            yield next(iter(bases.values()))
            return


def _chooses_all(index: Value) -> bool:
    """`x[np.arange(len(x))]`: all of them are chosen, and who draws batches from them is another question."""
    index = _of_samples(index)
    return isinstance(index, Applied) and index.callee.rpartition(".")[2] in COUNTING and len(index.args) == 1


def _of_samples(index: Value) -> Value:
    """The part of an index that chooses samples: the first, where each axis has one."""
    return index.items[0] if isinstance(index, Items) and index.items else index


def _is_by_name(index: Value) -> bool:
    """`batch["x"]`, `pair[0]`, `x[..., 0]` and `x[:, 1:]`: what is taken is the same of all samples."""
    index = _of_samples(index)
    if isinstance(index, Constant):
        return True
    return _is_slice(index) and not _counts(index)


def _is_slice(index: Value) -> bool:
    return isinstance(index, Applied) and index.callee == "slice"


def _counts(index: Value) -> bool:
    """`at : at + size`: both ends move, where a part that is held out leaves one end open."""
    if not isinstance(index, Applied) or len(index.args) < 2:
        return False
    first, last = index.args[:2]
    return not any(is_nothing(end) or isinstance(end, Constant) for end in (first, last))


def _order(run: Execution, index: Value) -> list[Site] | None:
    """Where the places are counted; None where chance has a say in them, empty where that is not seen.

    What a comparison answers is a mask over the axis: it chooses among what the batch has already.
    """
    counted: list[Site] = []
    for value in ancestry(run, index):
        if not isinstance(value, Applied):
            continue
        if is_comparison(value):
            return []
        last = value.callee.rpartition(".")[2]
        if last in CHANCE or value.callee == "()":
            return None
        if last in COUNTING or (_is_slice(value) and _counts(value)):
            counted.append(value.site)
    return sorted(counted, key=lambda site: not _is_call(site))


def _is_call(site: Site) -> bool:
    return isinstance(site.node, ast.Call)


def _is_on_purpose(site: Site) -> bool:
    """Whether the function around speaks of a sequence, a stream or a buffer."""
    line = getattr(site.node, "lineno", 0)
    around = [
        node
        for node in all_nodes(site.source.tree)
        if isinstance(node, FunctionNode) and node.lineno <= line <= (node.end_lineno or line)
    ]
    inner = max(around, key=lambda node: node.lineno, default=None)
    said = spoken_words(inner if inner is not None else site.node)
    return bool(said & IN_TIME)
