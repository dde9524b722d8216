"""Items of training data that begin everybody's random numbers at one of a few places.

`np.random.seed(0)` in `__getitem__` gives every sample the crop, the flip and the noise of every other, in
all epochs. A seed that is the item's own makes data that are the same each time, which is what toy data are
for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.batches import datasets
from stethoscope.program.data.repeated_chance import DRAWING, SEEDS_ALL, reached_by_items
from stethoscope.program.data.training_data import TrainingLoader
from stethoscope.program.index import External, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.values import Instance
from stethoscope.run import Source

TRAINING = frozenset({"train", "training"})
FEW = 1000  # seeds of a data set that are no more than this leave most samples without one of their own


@dataclass(frozen=True, slots=True, eq=False)
class SeededItem:
    """A seed that items set, and something that they draw behind it."""

    source: Source
    seed: ast.Call
    drawn: ast.AST


def seeded_items(loader: TrainingLoader) -> Iterator[SeededItem]:
    """The seeds that the data of a loader set to the same few numbers in each of their items."""
    if loader.dataset is None:
        return
    index = loader.run.index
    for dataset in datasets(loader.run, loader.dataset):
        if not isinstance(dataset, Instance):
            continue
        for method in reached_by_items(index, dataset.cls):
            seed = next(_seeds(index, method), None)
            drawn = next(_drawn_behind(method, seed), None) if seed is not None else None
            if seed is not None and drawn is not None:
                yield SeededItem(method.source, seed, drawn)


def _seeds(index: Index, method: Function) -> Iterator[ast.Call]:
    """The seeds that a method sets each time, or each time it trains."""
    home = index.module_of(method.source)
    waiting: list[ast.AST] = list(method.node.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.If):
            waiting.extend(node.body if _asks_training(node.test) else ())
        elif isinstance(node, ast.With):
            waiting.extend(node.body if "rng" not in ast.unparse(node.items[0]) else ())
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            target = index.resolve(home, dotted(node.value.func) or "")
            is_seed = isinstance(target, External) and target.name in SEEDS_ALL
            if is_seed and node.value.args and _is_one_of_few(node.value.args[0]):
                yield node.value


def _asks_training(test: ast.expr) -> bool:
    """`if self.training`, which says nothing of held-out data."""
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return bool(TRAINING.intersection(words(name)))


def _is_one_of_few(seed: ast.expr) -> bool:
    """A number, or what is left of one by a small divisor."""
    match seed:
        case ast.Constant(value=int()):
            return True
        case ast.BinOp(op=ast.Mod(), right=ast.Constant(value=int() as divisor)):
            return 0 < divisor <= FEW
    return False


def _drawn_behind(method: Function, seed: ast.Call) -> Iterator[ast.AST]:
    """What a method draws from everybody's numbers after it set them."""
    for node in all_nodes(method.node):
        if not isinstance(node, ast.Call) or node.lineno <= seed.lineno or bare_name(node) not in DRAWING:
            continue
        if not any(keyword.arg == "generator" for keyword in node.keywords):
            yield node
