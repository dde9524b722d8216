"""Callbacks that keep the best weights by a number that the framework logs in training.

`on_log` of the Hugging Face Trainer gets "loss" for training and "eval_loss" for held-out data; in Keras'
manner "loss" stands beside "val_loss".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.beaten_records import BEST_WORDS
from stethoscope.program.evaluation.choosing import NO_WEIGHTS, SAVING_WORDS, is_of_training
from stethoscope.program.evaluation.evaluations import names_in
from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Site

HOOKS = frozenset(
    {"on_log", "on_epoch_end", "on_train_epoch_end", "on_train_batch_end", "on_step_end", "on_train_end"}
)
LOGS = frozenset({"logs", "log", "metrics", "callback_metrics", "logged_metrics", "log_history"})
# What says that held-out data are measured as well.
MEASURING = ("eval_dataset", "validation_step", "val_loss", "eval_loss", "val_dataloaders")


@dataclass(frozen=True, slots=True, eq=False)
class CallbackChoice:
    """A comparison in a callback, the save under it, and where the score is looked up."""

    name: str
    comparison: Site
    save: Site
    looked_up: Site


def callback_choices(index: Index) -> Iterator[CallbackChoice]:
    """The choices of the best in callbacks that go by a number of training."""
    texts = [module.source.text for module in index.modules.values()]
    if not any(word in text for text in texts for word in MEASURING):
        return
    for cls in index.classes:
        for name in HOOKS & cls.methods.keys():
            yield from _choices(cls.methods[name])


def _choices(hook: Function) -> Iterator[CallbackChoice]:
    scores = dict(_scores(hook))
    for node in all_nodes(hook.node):
        if not isinstance(node, ast.If):
            continue
        save = next((call for call in _calls(node.body) if _is_save(call)), None)
        for test in all_nodes(node.test) if save is not None else ():
            if not isinstance(test, ast.Compare) or len(test.comparators) != 1:
                continue
            best = [bool(_words(side) & BEST_WORDS) for side in (test.left, test.comparators[0])]
            if best.count(True) != 1:
                continue
            side = test.comparators[0] if best[0] else test.left
            looked_up = scores.get(side.id) if isinstance(side, ast.Name) else _key_of(side)
            if looked_up is not None and save is not None and _is_training_key(looked_up[0], hook):
                source = hook.source
                yield CallbackChoice(
                    looked_up[0], Site(source, test), Site(source, save), Site(source, looked_up[1])
                )


def _scores(hook: Function) -> Iterator[tuple[str, tuple[str, ast.expr]]]:
    """The names that hold what was looked up among the logged numbers."""
    for node in all_nodes(hook.node):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found = _key_of(node.value)
            if found is not None:
                yield node.targets[0].id, found
        elif isinstance(node, ast.NamedExpr):
            found = _key_of(node.value)
            if found is not None:
                yield node.target.id, found


def _key_of(value: ast.expr) -> tuple[str, ast.expr] | None:
    """`logs["loss"]`, `logs.get("loss")`, `(logs or {}).get("loss")`, also as a number."""
    for node in all_nodes(value):
        match node:
            case ast.Subscript(value=base, slice=ast.Constant(value=str() as key)) as found:
                pass
            case (
                ast.Call(
                    func=ast.Attribute(value=base, attr="get"), args=[ast.Constant(value=str() as key), *_]
                ) as found
            ):
                pass
            case _:
                continue
        if LOGS & set(names_in(base)):
            return key, found
    return None


def _is_training_key(key: str, hook: Function) -> bool:
    if is_of_training(key):
        return True
    return key == "loss" and hook.name in {"on_log", "on_epoch_end"}


def _calls(body: list[ast.stmt]) -> Iterator[ast.Call]:
    for statement in body:
        for node in all_nodes(statement):
            if isinstance(node, ast.Call):
                yield node


def _is_save(call: ast.Call) -> bool:
    name = str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))
    return bool(set(words(name)) & SAVING_WORDS) and not set(words(name)) & NO_WEIGHTS


def _words(node: ast.AST) -> set[str]:
    return {word for name in names_in(node) for word in words(name)}
