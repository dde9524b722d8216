"""Trainers that are handed the training data for their evaluation as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.trainers_made import trainers_made
from stethoscope.program.walk.values import Site

# What chooses or stops by what is measured on held-out data.
CHOOSING = ("load_best_model_at_end", "EarlyStopping", "ModelCheckpoint", "metric_for_best_model")


@dataclass(frozen=True, slots=True, eq=False)
class SameData:
    """Where a trainer gets the same data twice, and how they are written."""

    site: Site
    written: str


def measured_on_training(index: Index, settings: frozenset[str]) -> Iterator[SameData]:
    """The data that a framework trains on and then chooses the best by; `settings` are names that are set."""
    texts = [source.text for source in index.program if not is_test(source)]
    if not settings.intersection(CHOOSING) and not any(word in text for text in texts for word in CHOOSING):
        return
    for made in trainers_made(index):
        trained, measured = made.given("train_dataset"), made.given("eval_dataset")
        if trained is not None and measured is not None and _are_same(trained, measured, made.around):
            yield SameData(Site(made.source, measured), ast.unparse(measured))
    for module in index.modules.values():
        if "lightning" not in module.source.text or is_test(module.source):
            continue
        for node in all_nodes(module.source.tree):
            if isinstance(node, ast.Call) and bare_name(node) == "fit" and _is_trainer(node):
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                trained = given.get("train_dataloaders", node.args[1] if len(node.args) > 1 else None)
                measured = given.get("val_dataloaders", node.args[2] if len(node.args) > 2 else None)
                if trained is not None and measured is not None and _are_same(trained, measured, ()):
                    yield SameData(Site(module.source, measured), ast.unparse(measured))


def _is_trainer(call: ast.Call) -> bool:
    holder = call.func.value if isinstance(call.func, ast.Attribute) else None
    made = holder.func if isinstance(holder, ast.Call) else holder
    return made is not None and "trainer" in words((dotted(made) or "").rpartition(".")[2])


def _are_same(one: ast.expr, other: ast.expr, around: tuple[ast.AST, ...]) -> bool:
    """Whether two expressions are the same data: written alike, or one a name for the other."""
    one, other = _named(one, around), _named(other, around)
    is_data = isinstance(one, ast.Name | ast.Attribute | ast.Subscript)
    return is_data and ast.dump(one) == ast.dump(other)


def _named(node: ast.expr, around: tuple[ast.AST, ...]) -> ast.expr:
    """What a name stands for, where it is given once and another name or a part of something."""
    if not isinstance(node, ast.Name):
        return node
    given = [
        one.value
        for one in around
        if isinstance(one, ast.Assign) and any(dotted(target) == node.id for target in one.targets)
    ]
    stored = sum(
        isinstance(one, ast.Name) and one.id == node.id and isinstance(one.ctx, ast.Store) for one in around
    )
    is_alias = len(given) == stored == 1 and isinstance(given[0], ast.Name | ast.Attribute | ast.Subscript)
    return given[0] if is_alias else node
