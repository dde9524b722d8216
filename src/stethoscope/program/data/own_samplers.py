"""Samplers of the program that hand out places one after the other, as they are made and told to."""

from __future__ import annotations

import ast

from stethoscope.program.data.ordered_indices import CHANCE, COUNTING, IN_PLACE
from stethoscope.program.data.stored_order import ON_PURPOSE, spoken_words
from stethoscope.program.data.training_data import TrainingLoader
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.values import Applied, Delayed, FunctionValue, Instance, Site


def own_order(loader: TrainingLoader) -> Site | None:
    """Where a sampler of the program counts the samples of training, in every epoch alike; else None."""
    for name in ("sampler", "batch_sampler"):
        sampler = loader.options.get(name)
        if isinstance(sampler, Instance):
            loader.run.steps = max(loader.run.steps, STEPS // 4)
            try:
                return _counted(loader.run, sampler)
            except (Exhausted, RecursionError):
                return None
    return None


def _counted(run: Execution, sampler: Instance) -> Site | None:
    method = run.index.method(sampler.cls, "__iter__")
    if method is None or any(_mixes_in_place(one.node) for one in sampler.cls.methods.values()):
        return None
    if spoken_words(sampler.cls.node) & ON_PURPOSE:
        return None  # places that follow each other in time, such as the lanes of a long text
    places = quietly(run, Delayed(FunctionValue(method, sampler), (), {}, Site(method.source, method.node)))
    counted: Site | None = None
    for value in ancestry(run, places):
        if not isinstance(value, Applied):
            continue
        last = value.callee.rpartition(".")[2]
        if last in CHANCE or value.callee == "()":
            return None
        if last in COUNTING and counted is None:
            counted = value.site
    return counted


def _mixes_in_place(node: ast.AST) -> bool:
    return any(bare_name(call) in IN_PLACE for call in all_nodes(node, ast.Call))
