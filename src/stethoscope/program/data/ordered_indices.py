"""Batches that are looked up at places counted one after the other, whoever counts them.

`x[order[at : at + size]]` with an order of `arange`, in the loop, in a class or behind a switch of the
settings that is off. Inputs and targets must be looked up at the same places, or be columns of what was
looked up: one array cut alone is often a text or a series that is read in its order on purpose.

    rows = table[at : at + size]; x, y = rows[:, :-1], rows[:, 1:]

A batch that begins anywhere, and goes on from there row by row, holds neighbours of the stored order too.
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
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.values import Applied, Choice, Constant, Items, Site, Value, is_nothing

COUNTING = frozenset({"arange", "range"})
CHANCE = MIXING | DRAWING | {"randrange", "sample", "RandomSampler", "default_rng", "argsort", "sort", "topk"}
DRAWN = frozenset({"randint", "randrange", "integers", "random_integers"})
IN_PLACE = frozenset({"shuffle", "shuffle_"})
# What is learnt in the order of time.
IN_TIME = frozenset({
    "bptt", "tbptt", "stateful", "hidden", "rollout", "rollouts", "replay", "online", "horizon", "past",
    "streaming", "buffer", "trajectory", "trajectories", "episode", "episodes", "lag",
})  # fmt: skip
FEWEST = 2  # arrays that are looked up at the same places, or columns of what was
BATCH_WORDS = frozenset({"batch", "minibatch", "rows", "samples", "examples", "items", "bs"})
ON_PURPOSE = frozenset({
    "seq", "sequence", "block", "context", "window", "time", "horizon", "frames", "series", "stream", "clip",
    "crop", "chunk", "segment",
})  # fmt: skip


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
    """The places in order at which samples are looked up for one loss, where no others are mixed."""
    found: dict[str, dict[str, Site]] = {}
    alone: dict[int, Site] = {}  # what was looked up, by one array
    columns: dict[int, set[str]] = {}  # the columns that are taken of what was looked up
    for value in ancestry(run, loss):
        if not (isinstance(value, Applied) and value.callee == "[]" and len(value.args) > 1):
            continue
        node = value.site.node
        if not isinstance(node, ast.Subscript):
            continue
        if _is_by_name(value.args[1]):
            if _is_of_columns(value.args[1]):
                for one in _options(run, value.args[0]):
                    columns.setdefault(id(one), set()).add(ast.unparse(node.slice))
            continue
        order = _order(run, _of_samples(value.args[1]))
        order = _neighbours(run, value) if order is None else order
        if order is None:
            return  # samples are mixed, or come from where nothing is known
        if order and not _is_on_purpose(value.site) and not _chooses_all(value.args[1]):
            found.setdefault(ast.unparse(node.slice), {})[ast.unparse(node.value)] = order[0]
            alone[id(value)] = order[0]
    for bases in found.values():
        if len(bases) >= FEWEST:
            yield next(iter(bases.values()))
            return
    yield from (site for known, site in [*alone.items()][:1] if len(columns.get(known, ())) >= FEWEST)


def _options(run: Execution, value: Value) -> tuple[Value, ...]:
    value = quietly(run, value)
    return value.options if isinstance(value, Choice) else (value,)


def _is_of_columns(index: Value) -> bool:
    """`rows[:, 1:]`: a part of each of the rows."""
    if not isinstance(index, Items) or len(index.items) < FEWEST or not _is_slice(index.items[0]):
        return False
    whole = index.items[0]
    return isinstance(whole, Applied) and all(map(is_nothing, whole.args))


def _neighbours(run: Execution, looked_up: Applied) -> list[Site] | None:
    """The cut of a batch of rows that begins anywhere and is as long as the batch is large; None for others.

    `table[first : first + batch_size]`, with the first drawn.
    """
    index, node = looked_up.args[1], looked_up.site.node
    if not (isinstance(index, Applied) and _is_slice(index) and isinstance(node, ast.Subscript)):
        return None
    first, last, *step = (quietly(run, one) for one in index.args)
    is_whole = isinstance(last, Applied) and last.callee == "+" and any(one is first for one in last.args)
    if not is_whole or not all(map(is_nothing, step)) or not isinstance(first, Applied):
        return None
    is_drawn = any(
        isinstance(one, Applied) and one.callee.rpartition(".")[2] in DRAWN for one in ancestry(run, first)
    )
    upper = node.slice.upper if isinstance(node.slice, ast.Slice) else None
    spoken = spoken_words(upper) if upper is not None else set()
    around = _spoken_around(looked_up.site)
    return [looked_up.site] if is_drawn and spoken & BATCH_WORDS and not around & ON_PURPOSE else None


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
    for value in ancestry(run, index, _is_length):
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


def _is_length(value: Value) -> bool:
    """How many there are says nothing of their order."""
    return isinstance(value, Applied) and value.callee in {"len", ".size", ".numel", ".__len__"}


def _is_call(site: Site) -> bool:
    return isinstance(site.node, ast.Call)


def _is_on_purpose(site: Site) -> bool:
    """Whether the function around speaks of a stream or a buffer."""
    return bool(_spoken_around(site) & IN_TIME)


def _spoken_around(site: Site) -> set[str]:
    """The words of the function around a place; of the place itself where there is none."""
    line = getattr(site.node, "lineno", 0)
    around = [
        node
        for node in all_nodes(site.source.tree)
        if isinstance(node, FunctionNode) and node.lineno <= line <= (node.end_lineno or line)
    ]
    inner = max(around, key=lambda node: node.lineno, default=None)
    return spoken_words(inner if inner is not None else site.node)
