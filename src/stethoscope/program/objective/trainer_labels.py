"""The labels that a Trainer of transformers takes as they are: its model computes the loss from them.

A function that is mapped over the data, or the data set itself, makes them; a collator that writes labels of
its own, or fills them up, is not asked here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.batches import entry, item_of
from stethoscope.program.index import Class, Function, Index, Module, dotted
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk import calls
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.framework_bases import is_trainer
from stethoscope.program.walk.values import Site, Value

STACKING = frozenset({"default_data_collator", "DefaultDataCollator", "DataCollatorWithPadding"})
MOST_FUNCTIONS = 20
LABELS = "labels"


def labels_as_made(index: Index, settings: SettingsTree) -> Iterator[tuple[Execution, Value, Site]]:
    """Labels that reach the model of a Trainer unchanged, with the Trainer."""
    for run, sample, at in samples_as_made(index, settings):
        labels = entry(sample, LABELS)
        if labels is not None:
            yield run, labels, at


def samples_as_made(index: Index, settings: SettingsTree) -> Iterator[tuple[Execution, Value, Site]]:
    """What reaches the model of a Trainer unchanged but for being stacked, with the Trainer."""
    trainers = list(_trainers(index))
    if not trainers or not all(_stacks(trainer) for _, trainer in trainers):
        return
    at = Site(trainers[0][0].source, trainers[0][1])
    for function in _mapped(index):
        run = Execution(index, settings, STEPS // 4)
        try:
            yield run, run.force(run.enter(function)), at
        except (Exhausted, RecursionError):
            continue
    for module, trainer in trainers:
        run = Execution(index, settings, STEPS // 4)
        cls = _dataset(run, module, trainer)
        try:
            sample = item_of(run, run.make(cls)) if cls is not None else None
        except (Exhausted, RecursionError):
            continue
        if sample is not None:
            yield run, sample, at


def _trainers(index: Index) -> Iterator[tuple[Module, ast.Call]]:
    for module in index.modules.values():
        if "Trainer" in module.source.text and not is_test(module.source):
            for node in all_nodes(module.source.tree):
                if isinstance(node, ast.Call) and _is_plain_trainer(index, module, node):
                    yield module, node


def _is_plain_trainer(index: Index, module: Module, made: ast.Call) -> bool:
    """A Trainer, or one of the repository whose loss, if it has its own, leaves no places out by itself."""
    if calls.bare_name(made) in {"Trainer", "Seq2SeqTrainer"}:
        return True
    target = index.resolve(module, dotted(made.func) or "")
    if not isinstance(target, Class) or not is_trainer(index, target):
        return False
    loss = target.methods.get("compute_loss")
    named = ast.unparse(loss.node) if loss is not None else ""
    return not any(word in named for word in ("ignore_index", "mask)", "mask.", "pad", "100", "weight"))


def _stacks(trainer: ast.Call) -> bool:
    """Whether the batches of a Trainer hold the labels of the data, and nothing that a collator made."""
    if any(keyword.arg is None for keyword in trainer.keywords):
        return False
    given = {keyword.arg: keyword.value for keyword in trainer.keywords}
    if not given.keys() & {"train_dataset"}:
        return False
    collator = given.get("data_collator")
    if collator is None:
        return True
    made = collator.func if isinstance(collator, ast.Call) else collator
    return (dotted(made) or "").rpartition(".")[2] in STACKING


def _mapped(index: Index) -> Iterator[Function]:
    """The functions of the repository that a data set is mapped with and that speak of labels."""
    named: set[str] = set()
    for module in index.modules.values():
        if ".map(" in module.source.text:
            for node in all_nodes(module.source.tree):
                if isinstance(node, ast.Call) and calls.bare_name(node) == "map" and node.args:
                    named.add((dotted(node.args[0]) or "").rpartition(".")[2])
    found = [
        function for function in index.functions if function.name in named and not is_test(function.source)
    ]
    yield from found[:MOST_FUNCTIONS]


def _dataset(run: Execution, module: Module, trainer: ast.Call) -> Class | None:
    """The class of the repository whose object a Trainer is given to train on."""
    given = next((keyword.value for keyword in trainer.keywords if keyword.arg == "train_dataset"), None)
    name = dotted(given) if given is not None else None
    made = given
    if name is not None:
        assigned = [
            node.value
            for node in all_nodes(module.source.tree, ast.Assign)
            if any(dotted(target) == name for target in node.targets)
        ]
        made = assigned[0] if len(assigned) == 1 else None
    if not isinstance(made, ast.Call):
        return None
    found = run.index.resolve(module, dotted(made.func) or "")
    return found if isinstance(found, Class) else None
