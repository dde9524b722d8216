"""What frameworks are told to watch, and under which names the program measures something.

ModelCheckpoint(monitor="val_loss")        self.log("val/loss", loss)
metric_for_best_model="f1_micro"           return {"f1": f1, "precision": precision}
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.framework_directions import (
    ARGUMENTS,
    MONITORING,
    is_of_lightning,
    is_of_lightning_by_settings,
    monitored_text,
    text_of,
)
from stethoscope.program.evaluation.logged_names import LoggedNames, logged_names
from stethoscope.program.index import Function, Index, Module, dotted
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.trainers_made import TrainerMade, trainers_made
from stethoscope.run import Recipe, Where

# What a Trainer of transformers measures by itself.
MEASURED = frozenset(
    {"loss", "runtime", "samples_per_second", "steps_per_second", "model_preparation_time", "epoch"}
)
OWN_MEASURING = frozenset({"evaluate", "evaluation_loop", "prediction_loop", "_evaluate", "log"})


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A name that is watched and that nothing is measured under, who watches it, and what there is."""

    where: Where
    name: str
    watcher: str
    there: tuple[str, ...]


def unmeasured_names(index: Index, recipe: Recipe | None) -> Iterator[Unmeasured]:
    """Every watched name that no number of the program can have."""
    logged = logged_names(index)
    if logged.complete:
        yield from _of_lightning(index, recipe, logged)
    keys = _trainer_keys(index)
    if keys is not None:
        yield from _of_trainer(index, recipe, keys)


# --- Lightning


def _of_lightning(index: Index, recipe: Recipe | None, logged: LoggedNames) -> Iterator[Unmeasured]:
    there = tuple(sorted({one.pattern.replace("\\", "") for one in logged.logged}))
    for where, name, watcher in (*_watched_in_source(index), *_watched_in_settings(recipe)):
        if not logged.may_be(name):
            yield Unmeasured(where, name, watcher, there)


def _watched_in_source(index: Index) -> Iterator[tuple[Where, str, str]]:
    for module in index.modules.values():
        if is_test(module.source) or "monitor" not in module.source.text:
            continue
        for node in all_nodes(module.source.tree, ast.Call, ast.Dict):
            told = _watched_by(index, module, node)
            if told is not None:
                yield (module.source.where(node), *told)


def _watched_by(index: Index, module: Module, node: ast.AST) -> tuple[str, str] | None:
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        given = dict(zip(keys, node.values, strict=True))
        name = text_of(index, module, given.get("monitor"))
        is_schedule = bool({"scheduler", "lr_scheduler", "optimizer"} & given.keys())
        is_schedule = is_schedule and "ReduceLROnPlateau" in module.source.text  # no other one asks
        return (name, "the schedule") if name and is_schedule else None
    if not isinstance(node, ast.Call):
        return None
    written = dotted(node.func) or ""
    last = written.rpartition(".")[2]
    if last in MONITORING and is_of_lightning(module, written):
        name = monitored_text(index, module, node)
        return (name, last) if name else None
    return None


def _watched_in_settings(recipe: Recipe | None) -> Iterator[tuple[Where, str, str]]:
    for setting in recipe.named("monitor") if recipe is not None else ():
        is_known = isinstance(setting.value, str) and setting.known
        if is_known and recipe is not None and is_of_lightning_by_settings(recipe, setting):
            yield setting.where, str(setting.value), "a callback"


# --- transformers


def _of_trainer(index: Index, recipe: Recipe | None, keys: frozenset[str]) -> Iterator[Unmeasured]:
    for where, name in (*_asked_in_source(index), *_asked_in_settings(recipe)):
        bare = name.removeprefix("eval_")
        if not any(bare == key or bare.endswith(f"_{key}") for key in keys | MEASURED):
            yield Unmeasured(where, name, "the Trainer", tuple(sorted(keys)))


def _asked_in_source(index: Index) -> Iterator[tuple[Where, str]]:
    for module in index.modules.values():
        if is_test(module.source) or "metric_for_best_model" not in module.source.text:
            continue
        for call in all_nodes(module.source.tree, ast.Call):
            if (dotted(call.func) or "").endswith(ARGUMENTS):
                given = next((w.value for w in call.keywords if w.arg == "metric_for_best_model"), None)
                name = text_of(index, module, given)
                if name and given is not None:
                    yield module.source.where(given), name


def _asked_in_settings(recipe: Recipe | None) -> Iterator[tuple[Where, str]]:
    for setting in recipe or ():
        if setting.leaf == "metric_for_best_model" and isinstance(setting.value, str) and setting.known:
            yield setting.where, setting.value


def _trainer_keys(index: Index) -> frozenset[str] | None:
    """The names of all that the trainers of a program measure; None where one cannot be known."""
    made = trainers_made(index)
    found: set[str] = set()
    for one in made:
        keys = _keys_of(index, one)
        if keys is None:
            return None
        found |= keys
    return frozenset(found) if made else None


def _keys_of(index: Index, made: TrainerMade) -> set[str] | None:
    if made.cls is not None and any(index.method(made.cls, name) is not None for name in OWN_MEASURING):
        return None
    if any(word.arg is None for word in made.call.keywords):
        return None
    given = made.given("compute_metrics")
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        return set()
    function = _named(index, made, given)
    return _returned_keys(function) if function is not None else None


def _named(index: Index, made: TrainerMade, given: ast.expr) -> Function | None:
    """The function that a trainer measures by, where its name has one meaning."""
    if not isinstance(given, ast.Name | ast.Attribute):
        return None
    target = index.resolve(index.module_of(made.source), dotted(given) or "")
    if isinstance(target, Function):
        return target
    beside = [one for one in index.functions_named(dotted(given) or "") if one.source is made.source]
    return beside[0] if target is None and len(beside) == 1 else None


def _returned_keys(function: Function) -> set[str] | None:
    found: set[str] = set()
    for node in own_nodes(function.node, ast.Return):
        value = node.value
        if not isinstance(value, ast.Dict) or not all(
            isinstance(key, ast.Constant) and isinstance(key.value, str) for key in value.keys
        ):
            return None
        found |= {str(key.value) for key in value.keys if isinstance(key, ast.Constant)}
    return found or None
