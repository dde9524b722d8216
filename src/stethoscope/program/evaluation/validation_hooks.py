"""Walks of what frameworks call for every batch of held-out data."""

from __future__ import annotations

from stethoscope.program.data.hook_batches import batch_given
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.index import Index
from stethoscope.program.loop.moves import moves
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.budget import budget
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.framework_instances import made_for_hooks
from stethoscope.program.walk.trace import HOOK_STEPS, TRACE_STEPS, Trace

HOOKS = ("validation_step", "test_step")


@remembered
def validation_walks(index: Index, settings: SettingsTree) -> tuple[Walk, ...]:
    """The walks of the steps of evaluation of Lightning modules, on batches of their loaders."""
    found: list[Walk] = []
    left = budget(index, HOOK_STEPS)
    for cls in index.classes:
        if not any(base.rpartition(".")[2] == "LightningModule" for base in index.outside_bases(cls)):
            continue
        for method in (cls.methods[name] for name in HOOKS if name in cls.methods):
            if left <= 0:
                return tuple(found)
            run = Execution(index, settings, min(TRACE_STEPS, left), tracing=True)
            complete = True
            try:
                module = made_for_hooks(run, cls)
                run.enter(method, module, batch_given(run, module, method))
            except (Exhausted, RecursionError):
                complete = False
            left -= min(TRACE_STEPS, left) - max(run.steps, 0)
            trace = Trace(method, run, tuple(run.events), complete, method)
            found.append(Walk(trace, moves(run, trace.events)))
    return tuple(found)
