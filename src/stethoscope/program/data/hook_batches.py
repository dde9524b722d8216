"""The batches that Lightning hands to a module: of its own loaders, its data module's, or those of fit."""

from __future__ import annotations

from stethoscope.program.data.fitted_loaders import fit_starts
from stethoscope.program.index import Class, Function
from stethoscope.program.walk.entries import walk
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.framework_instances import made_for_hooks
from stethoscope.program.walk.values import Constant, FunctionValue, Instance, Items, Part, Table, Value

LOADER_METHODS = {
    "training_step": "train_dataloader",
    "validation_step": "val_dataloader",
    "test_step": "test_dataloader",
}
FIT_ARGUMENTS = {"training_step": (1, "train_dataloaders"), "validation_step": (2, "val_dataloaders")}
BATCH_PLACE = 1  # among the parameters of a step, behind self


def batch_given(run: Execution, module: Instance, step: Function) -> dict[str, Value]:
    """The batch under the name that a step has for it; nothing where its loader is not found."""
    if len(step.parameters) <= BATCH_PLACE or step.name not in LOADER_METHODS:
        return {}
    steps, met, scope = run.steps, len(run.events), run.scope
    run.steps = steps // 2
    try:
        loader = _loader(run, module, step.name)
    except (Exhausted, RecursionError):
        loader = None
    finally:
        run.steps = steps - (steps // 2 - max(run.steps, 0))
        run.scope = scope
        del run.events[met:]
    return {step.parameters[BATCH_PLACE]: Part(loader, "*")} if loader is not None else {}


def _loader(run: Execution, module: Instance, step: str) -> Value | None:
    method = LOADER_METHODS[step]
    if run.index.method(module.cls, method) is not None:
        return _made_by(run, module, method)
    for cls in run.index.classes:
        if _is_data_module(run, cls) and run.index.method(cls, method) is not None:
            data = made_for_hooks(run, cls)
            setup = run.index.method(cls, "setup")
            if setup is not None:
                run.initialise(data)
                run.enter(setup, data, {name: Constant("fit") for name in setup.parameters[1:2]})
            return _made_by(run, data, method)
    return _given_to_fit(run, step)


def _is_data_module(run: Execution, cls: Class) -> bool:
    return any(base.rpartition(".")[2] == "LightningDataModule" for base in run.index.outside_bases(cls))


def _made_by(run: Execution, holder: Instance, name: str) -> Value | None:
    method = run.index.method(holder.cls, name)
    return _first(run, run.follow(FunctionValue(method, holder), (), {})) if method is not None else None


def _given_to_fit(run: Execution, step: str) -> Value | None:
    """The loader that a script hands to `trainer.fit`."""
    if step not in FIT_ARGUMENTS:
        return None
    place, name = FIT_ARGUMENTS[step]
    for start in fit_starts(run.index):
        met = len(run.events)
        walk(run, start)
        for event in run.events[met:]:
            if isinstance(event, Call) and event.name == "fit" and event.receiver is not None:
                given = event.argument(place, name)
                if given is not None:
                    return _first(run, given)
    return None


def _first(run: Execution, loaders: Value) -> Value | None:
    """One loader, or the first of several."""
    loaders = run.force(loaders)
    match loaders:
        case Items(items=[first, *_]):
            return run.force(first)
        case Items() | Table():
            return None
    return loaders
