"""The loaders of evaluation, each beside a loader of training of the same walk."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.batches import batch_parts, datasets, is_loader
from stethoscope.program.data.fitted_loaders import fitted_loaders
from stethoscope.program.data.ingredients import part_path
from stethoscope.program.data.trainer_data import trainer_data
from stethoscope.program.data.training_data import POSITIONAL, TrainingLoader, sources, training_loaders
from stethoscope.program.evaluation.data_origins import paired
from stethoscope.program.evaluation.evaluation_entries import evaluates
from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.trace import TRACE_STEPS
from stethoscope.program.walk.values import Applied, Delayed, Instance

# fmt: off
EVALUATION_WORDS = frozenset({
    "val", "valid", "validation", "test", "testing", "eval", "evaluation", "dev", "holdout", "heldout",
    "held", "evaluate", "validate", "accuracy", "tst", "vali",
})
# fmt: on
EVALUATION_HOOKS = ("val_dataloader", "test_dataloader")
# fmt: off
EVALUATION_STEPS = frozenset({
    "validation_step", "test_step", "on_after_batch_transfer", "on_before_batch_transfer",
    "transfer_batch_to_device",
})
# fmt: on
MOST_LOADERS = 12


@dataclass(frozen=True, slots=True, eq=False)
class LoaderPair:
    """A loader of training and one of evaluation, in the walk that met both."""

    run: Execution
    events: Sequence[Event]
    trained: Applied
    judged: Applied


def loader_pairs(index: Index, settings: SettingsTree) -> tuple[LoaderPair, ...]:
    """The pairs that the walks met, that hooks of frameworks give back, and that trainers are given.

    Without the latter where a step of a framework's evaluation standardises its batch by itself.
    """
    if _hooks_scale(index):
        return tuple(_in_walks(index, settings))
    told = (LoaderPair(run, run.events, *pair) for run, *pair in trainer_data(index, settings))
    return (*every_loader_pair(index, settings), *told)


@remembered
def every_loader_pair(index: Index, settings: SettingsTree) -> tuple[LoaderPair, ...]:
    """The pairs, whatever is done with their batches."""
    return (*_in_walks(index, settings), *_in_hooks(index, settings), *_in_fits(index, settings))


def _in_walks(index: Index, settings: SettingsTree) -> Iterator[LoaderPair]:
    trained = [loader for loader in training_loaders(index, settings) if loader.loop is not None]
    own = {id(loader.site.node) for loader in trained}
    for loader in trained:
        names = _names_by_value(loader.run)
        judging = _judging(loader.run)
        count = 0
        for record in loader.run.records:
            made = record.value
            if not (isinstance(made, Applied) and is_loader(made)) or made is loader.made:
                continue
            around = record.within[-1].name if record.within else ""
            spoken = names.get(id(made), ())
            # One place may make all loaders: then only what each is called tells them apart.
            texts = spoken if id(made.site.node) in own else (made.site.text, around, *spoken)
            is_judging = id(made) in judging or _is_for_evaluation(texts)
            if is_judging and count < MOST_LOADERS and _is_counterpart(loader, made, trained):
                count += 1
                yield LoaderPair(loader.run, loader.run.events, loader.made, made)


def _judging(run: Execution) -> set[int]:
    """The loaders whose batches go into a network inside a function that evaluates."""
    run.steps = max(run.steps, STEPS // 4)
    found: set[int] = set()
    try:
        for record in run.records:
            call = record.value
            if record.within and evaluates(record.within[-1]) and is_model_call(run.index, call):
                parts = (part for arg in call.args for part in batch_parts(run, arg))
                found.update(id(part_path(part)[0]) for part in parts)
    except (Exhausted, RecursionError):
        pass  # what was met so far stands
    return found


def _is_counterpart(loader: TrainingLoader, judged: Applied, trained: Sequence[TrainingLoader]) -> bool:
    """Whether training and evaluation load the same kind of data, where training has several."""
    others = [one for one in trained if one.run is loader.run]
    if len(others) < 2:
        return True
    return bool(dataset_classes(loader.run, loader.made) & dataset_classes(loader.run, judged))


def dataset_classes(run: Execution, loader: Applied) -> set[Class]:
    """The classes of the data sets behind a loader."""
    options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
    behind = datasets(run, options["dataset"]) if "dataset" in options else ()
    return {one.cls for one in behind if isinstance(one, Instance)}


def _names_by_value(run: Execution) -> dict[int, list[str]]:
    """What values are called, also those of rows: `train, val = map(loader_for, splits)`."""
    found: dict[int, list[str]] = {}
    for event in list(run.events):
        if not isinstance(event, Assignment):
            continue
        for target, given in paired(event.target, event.value):
            name = dotted(target) or ""
            values = [given]
            if isinstance(given, Delayed) and "load" in ast.unparse(event.site.node).lower():
                values.append(quietly(run, given))
            for value in values:
                found.setdefault(id(value), []).append(name)
    return found


def _is_for_evaluation(texts: Sequence[str]) -> bool:
    spoken = {word for text in texts for name in _identifiers(text) for word in words(name)}
    return bool(spoken & EVALUATION_WORDS)


def _identifiers(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() or letter == "_" else " " for letter in text).split()


def _in_hooks(index: Index, settings: SettingsTree) -> Iterator[LoaderPair]:
    """What the loader hooks of a framework's data class give back."""
    for cls in index.classes:
        first = cls.methods.get("train_dataloader")
        others = [cls.methods[name] for name in EVALUATION_HOOKS if name in cls.methods]
        if first is None or not others:
            continue
        run = Execution(index, settings, TRACE_STEPS // 4, tracing=True)
        try:
            module = run.make(cls)
            trained = [made for made in sources(run.enter(first, module)) if is_loader(made)]
            judged = [
                made for other in others for made in sources(run.enter(other, module)) if is_loader(made)
            ]
        except (Exhausted, RecursionError):
            continue
        yield from (LoaderPair(run, run.events, trained[0], made) for made in judged if trained)


def _in_fits(index: Index, settings: SettingsTree) -> Iterator[LoaderPair]:
    """The loaders that a Lightning trainer is given side by side."""
    for loader in fitted_loaders(index, settings):
        for event in list(loader.run.events):
            if not isinstance(event, Call) or event.name != "fit":
                continue
            given = event.argument(2, "val_dataloaders")
            for made in sources(loader.run.force(given)) if given is not None else ():
                if is_loader(made) and made is not loader.made:
                    yield LoaderPair(loader.run, loader.run.events, loader.made, made)


def _hooks_scale(index: Index) -> bool:
    """Whether a step of evaluation standardises its batch by itself."""
    return any(
        _computes_scale(function) for name in EVALUATION_STEPS for function in index.functions_named(name)
    )


def _computes_scale(function: Function) -> bool:
    for node in own_nodes(function.node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            return True
        if isinstance(node, ast.Call) and "norm" in (dotted(node.func) or "").lower():
            return True
    return False
