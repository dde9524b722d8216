"""The order that training gets in one process, where only several of them get a sampler that shuffles.

`sampler = DistributedSampler(data) if distributed else None` leaves the loader of a single process to its
`shuffle`, which is off. A sampler that depends on whether this is training at all says nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.data_order import goes_in_order, is_off
from stethoscope.program.data.training_data import POSITIONAL, TrainingLoader
from stethoscope.program.objective.array_statements import words_of
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.arithmetic import truth
from stethoscope.program.walk.values import Applied, Choice, Constant, Delayed, FunctionValue, Site, Value

# fmt: off
OF_RANKS = frozenset({
    "dist", "distributed", "ddp", "world", "rank", "ranks", "initialized", "gpus", "multi", "nprocs",
    "parallel", "fsdp", "nodes", "replicas", "processes",
})
OF_PURPOSE = frozenset({
    "train", "training", "mode", "split", "phase", "eval", "val", "valid", "validation", "test", "shuffle",
    "stage", "subset", "part", "name", "kind",
})
# fmt: on


def lone_order(loader: TrainingLoader) -> Site | None:
    """Where a single process gets the stored order, though several get a shuffled one; else None."""
    sampler = loader.options.get("sampler")
    options = sampler.options if isinstance(sampler, Choice) else ()
    shared = [one for one in options if isinstance(one, Applied) and _is_distributed(one)]
    alone = [one for one in options if one not in shared]
    if not shared or not alone or not all(is_off(one) or goes_in_order(one) for one in alone):
        return None
    known = set(_given(loader))
    if not all(_is_for_ranks(one.site, known) for one in shared):
        return None
    made = next((one for one in alone if isinstance(one, Applied)), None)
    return made.site if made is not None else loader.site


def _is_distributed(sampler: Applied) -> bool:
    return sampler.callee.rpartition(".")[2].endswith("DistributedSampler") and not goes_in_order(sampler)


def _given(loader: TrainingLoader) -> Iterator[str]:
    """The parameters that are known to be on where a function of the program makes the sampler."""
    raw = {**dict(zip(POSITIONAL, loader.made.args, strict=False)), **loader.made.keywords}.get("sampler")
    if isinstance(raw, Delayed) and isinstance(raw.callee, FunctionValue):
        names = raw.callee.function.parameters
        given = {**dict(zip(names, raw.args, strict=False)), **raw.keywords}
        yield from (name for name, value in given.items() if _is_on(value))


def _is_on(value: Value) -> bool:
    return isinstance(value, Constant) and truth(value) is True


def _is_for_ranks(site: Site, known: set[str]) -> bool:
    """Whether a sampler is made where there are several processes, and for no other reason."""
    tests = list(_tests_around(site))
    asked = [one for test in tests for one in _questions(test) if getattr(one, "id", "") not in known]
    spoken = [set(words_of(one)) for one in asked]
    return bool(spoken) and all(said & OF_RANKS and not said & OF_PURPOSE for said in spoken)


def _questions(test: ast.expr) -> Iterator[ast.expr]:
    """The conditions that one condition is made of."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _questions(part)
    else:
        yield test


def _tests_around(site: Site) -> Iterator[ast.expr]:
    for node in all_nodes(site.source.tree):
        if isinstance(node, ast.If | ast.IfExp) and any(inner is site.node for inner in all_nodes(node)):
            yield node.test
