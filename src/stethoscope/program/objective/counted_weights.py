"""Weights of classes that are computed from their counts, tried on counts: which class weighs more?

`weight=counts.sum() / counts` gives the rare classes the larger say, `weight=counts / counts.sum()` the
frequent ones; `pos_weight=negatives / positives` lifts rare positives, the inverse buries them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.probe import computed, operands_of
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.values import Applied, Constant, Delayed, Instance, Part, Site, Value, inputs

COUNTS = np.array([900.0, 80.0, 20.0])  # of three classes
ALL, POSITIVE = 100.0, 5.0  # samples, and those of them that are positive
OTHER = 3.0  # what another number is taken for, such as that of the classes
MOST_VISITED = 200
SAME_COUNT = frozenset({"astype", "float", "int", "long", "to", "asarray", "array", "tensor", "as_tensor"})
POSITIVES = frozenset({
    "y", "z", "t", "label", "labels", "target", "targets", "pos", "positive", "positives", "mask", "masks",
    "truth", "gt", "hits", "clicks", "click", "event", "events", "outcome", "outcomes",
})  # fmt: skip
NEGATIVES = frozenset({"neg", "negative", "negatives", "not", "non", "no", "normal", "healthy", "background"})
TARGETED = frozenset({"binary_cross_entropy_with_logits", "BCEWithLogitsLoss", "BCEWithLogitsLoss()"})
CLASSED = frozenset({"cross_entropy", "nll_loss", "CrossEntropyLoss", "NLLLoss"})


@dataclass(frozen=True, slots=True, eq=False)
class CountedWeight:
    """A loss and its weights; `kind` says whether those of classes or that of positives are turned."""

    site: Site
    weight: str
    kind: str


@remembered
def counted_weights(index: Index, settings: SettingsTree) -> tuple[CountedWeight, ...]:
    """The losses of a program that give the frequent the larger say."""
    if not any("weight=" in source.text for source in index.program):
        return ()
    found: dict[int, CountedWeight] = {}
    for one in minimised(index, settings):
        if is_test(one.sink.site.source):
            continue
        allow_reading(one.run)
        try:
            with warnings.catch_warnings():  # shapes that fit in no way
                warnings.simplefilter("ignore")
                for weighed in _weighed(one):
                    found.setdefault(id(weighed.site.node), weighed)
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _weighed(one: Minimised) -> Iterator[CountedWeight]:
    for value in ingredients(one.run, one.sink.value):
        if not isinstance(value, Applied):
            continue
        name = value.callee.removesuffix("()").rpartition(".")[2]
        made = value.maker if isinstance(value.maker, Applied) else value
        of_classes = name in CLASSED
        weight = made.keywords.get("weight" if of_classes else "pos_weight")
        is_weighed = weight is not None and (of_classes or name in TARGETED)
        if weight is not None and is_weighed and _lifts_the_frequent(one, weight, of_classes):
            yield CountedWeight(made.site, _text(weight), "classes" if of_classes else "positives")


def _text(weight: Value) -> str:
    return " ".join(weight.site.text.split())[:80] if isinstance(weight, Applied | Delayed) else "weight"


def _lifts_the_frequent(one: Minimised, weight: Value, of_classes: bool) -> bool:
    """Whether what occurs most weighs most, with counts in the place of what counts."""
    found = list(_counts(weight, of_classes))
    if not found or (not of_classes and len({number for _, number in found}) == 1):
        return False
    operands = [value for value, _ in found]
    rest = operands_of(one.run.index, weight, frozenset(map(id, operands)))
    known = {id(value) for value in operands}
    others = [value for value in rest if id(value) not in known]
    given: list[object] = [COUNTS if of_classes else number for _, number in found]
    numbers = computed(one.run.index, weight, [*operands, *others], [*given, *(OTHER for _ in others)])
    flat = np.ravel(numbers) if numbers is not None else np.zeros(0)
    if of_classes:
        return flat.shape == COUNTS.shape and bool(flat[0] > flat[1] > flat[2] > 0)
    return flat.size == 1 and bool(0 < flat[0] < 1)


def _counts(weight: Value, of_classes: bool) -> Iterator[tuple[Value, float]]:
    """What is counted: the samples of each class, or positives, negatives and all of them."""
    waiting, seen = [weight], set[int]()
    while waiting and len(seen) < MOST_VISITED:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if of_classes and _is_counted(value):
            yield value, 0.0
            return
        number = None if of_classes else _number_of(value)
        if number is not None:
            yield value, number
        elif not isinstance(value, Instance):
            waiting.extend(inputs(value))


def _number_of(value: Value) -> float | None:
    """How many of a hundred samples something counts, where five are positive."""
    if not isinstance(value, Applied):
        return None
    name = value.callee.rpartition(".")[2]
    if name in {"len", "numel"}:
        return ALL
    if name not in {"sum", "count_nonzero"} or not value.args or len(value.args) > 1:
        return None
    return _counted_by(value, value.args[0])


def _counted_by(count: Applied, summed: Value) -> float | None:
    """How many samples a sum counts, by what is summed; None where that may be anything."""
    match summed:
        case Applied(callee="==" | "eq" | ".eq", args=[_, Constant(value=label)]):
            return ALL - POSITIVE if label == 0 else POSITIVE
        case Applied(callee="!=" | "ne" | ".ne", args=[_, Constant(value=label)]):
            return POSITIVE if label == 0 else ALL - POSITIVE
        case Applied(callee="<" | "<=", args=[_, Constant()]):
            return ALL - POSITIVE
        case Applied(callee=">" | ">=", args=[_, Constant()]):
            return POSITIVE
        case Applied(callee="-", args=[Constant(value=1), _]) | Applied(callee="~"):
            return ALL - POSITIVE
        case Applied(callee=callee, args=[inner, *_]) if callee.rpartition(".")[2] in SAME_COUNT:
            return _counted_by(count, inner)
    spoken = set(words(_text(count)))
    return POSITIVE if spoken & POSITIVES and not spoken & NEGATIVES else None


def _is_counted(value: Value) -> bool:
    """`torch.bincount(y)`, `np.unique(y, return_counts=True)[1]`, `table["label"].value_counts()`."""
    if isinstance(value, Part) and value.key == 1 and isinstance(value.base, Applied):
        return value.base.callee.endswith("unique") and "return_counts" in value.base.keywords
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in {"bincount", "value_counts"}
