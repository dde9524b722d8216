"""A difficulty inside an evaluation that follows the progress of training."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.comparisons import Comparison, expanded, is_in_network, spoken_callee
from stethoscope.program.evaluation.evaluation_entries import EvaluationEntry
from stethoscope.program.index import Function
from stethoscope.program.likenesses import words
from stethoscope.program.objective.orientation import spoken_name
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
    Applied,
    Delayed,
    FunctionValue,
    Instance,
    Leaf,
    Part,
    Value,
    inputs,
)
from stethoscope.run import Where

MOST_SEEN = 20_000  # values looked at from one entry
PROGRESS = re.compile(
    r"^(global_?|cur_?|current_?|train_?|n_?|num_?)*(step|steps|iter|iters|iteration|epoch)$|^progress$"
)
# A number of steps that is asked for is a length, and no place in one.
ASKED_FOR = re.compile(r"^(n|num)_?(steps|iters|iterations)$")
DIFFICULTY = re.compile(r"curricul|difficult|ramp|preschool|pacing|hardness|anneal", re.IGNORECASE)
FIXED_DIFFICULTY = re.compile(r"final|full|max|target|last|hardest|fixed|reset", re.IGNORECASE)


def is_place(name: str) -> bool:
    """Whether a parameter says how far training has come."""
    return bool(PROGRESS.match(name)) and not ASKED_FOR.match(name)


@dataclass(frozen=True, slots=True)
class Following:
    """A difficulty inside validation that depends on the progress of training."""

    function: str
    difficulty: str
    progress: str
    where: Where
    measured_at: Where


def followed_in(run: Execution, comparisons: list[Comparison], entry: EvaluationEntry) -> Iterator[Following]:
    """The difficulties behind measurements that depend on the progress of training."""
    measured = [comparison.value for comparison in comparisons]
    measured += [r.value for r in run.records if not is_in_network(r) and _is_loss_call(r.value)]
    seen: set[int] = set()
    for value in measured:
        found = _progress_in(run, value, seen)
        if found is None:
            continue
        difficulty, progress = found
        start = entry.start
        yield Following(
            function=start.spoken if isinstance(start, Function) else start.name,
            difficulty=difficulty.site.text.partition("\n")[0][:80],
            progress=progress,
            where=difficulty.site.where,
            measured_at=value.site.where,
        )


def _is_loss_call(value: Applied | Delayed) -> bool:
    name = spoken_name(value) if isinstance(value, Delayed) else spoken_callee(value)
    return bool(set(words(name)) & {"loss", "losses", "criterion", "objective"})


def _progress_in(run: Execution, value: Value, seen: set[int]) -> tuple[Applied | Delayed, str] | None:
    """A difficulty among what a value was made from, and the progress it depends on."""
    waiting: list[Value] = [value]
    while waiting and len(seen) < MOST_SEEN:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Applied | Delayed) and _is_difficulty(current):
            progress = _progress(current)
            if progress:
                return current, progress
        if isinstance(current, Delayed):
            waiting.append(expanded(run, current))
        waiting.extend(inputs(current))
    return None


def _is_difficulty(value: Applied | Delayed) -> bool:
    named = spoken_name(value) if isinstance(value, Delayed) else ""
    if isinstance(value, Delayed) and isinstance(value.callee, FunctionValue):
        function = value.callee.function
        named += " " + function.spoken
    elif isinstance(value, Applied):
        named = value.site.text[:120] if value.callee[0] in ".(" else ""
    return bool(DIFFICULTY.search(named)) and not FIXED_DIFFICULTY.search(named)


def _progress(value: Applied | Delayed) -> str:
    for arg in (*value.args, *value.keywords.values()):
        for name in _leaf_names(arg):
            if PROGRESS.match(name):
                return name
    return ""


def _leaf_names(value: Value) -> Iterator[str]:
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < 200:
        current = waiting.pop()
        if id(current) in seen or isinstance(current, Instance):
            continue
        seen.add(id(current))
        if isinstance(current, Leaf):
            yield current.name
        elif isinstance(current, Part):
            yield str(current.key)
        waiting.extend(inputs(current))
