"""Padding that reaches the loss: tokens or channels that a data set adds, and nothing takes out again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.batches import batch_parts, drawn
from stethoscope.program.execution import STEPS, Execution, Exhausted
from stethoscope.program.index import Index
from stethoscope.program.ingredients import ingredients, peeled
from stethoscope.program.likenesses import words
from stethoscope.program.minimised import Minimised, minimised
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.values import (
    Applied,
    Constant,
    Delayed,
    Instance,
    Items,
    Leaf,
    Part,
    Site,
    Value,
)

TOKENS, CHANNELS = "tokens", "channels"
MASKING_WORDS = frozenset({"mask", "masks", "valid", "length", "lengths", "weights", "lens", "ignore"})
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
PAD = re.compile(r"(?<![a-z])pad", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class PaddedLoss:
    """Padding of one kind, where it is added, and the backward pass that it reaches."""

    kind: str
    made: Site
    sink: Site


@dataclass(frozen=True, slots=True, eq=False)
class Padding:
    """What was found, and how many losses were computed from batches whose making could be followed."""

    followed: int
    reaching: tuple[PaddedLoss, ...]


@remembered
def padding_in_loss(index: Index, settings: SettingsTree) -> Padding:
    """Follow what each loss is computed from back into the data set, and look for padding there."""
    found: dict[object, PaddedLoss] = {}
    followed = 0
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            parts = list(batch_parts(one.run, one.sink.value))
            values = [value for part in parts for value in drawn(one.run, part)]
            followed += bool(values)
            if _is_masked(one, parts):
                continue
            for value in values:
                for kind, site in _paddings(one.run, value):
                    found.setdefault((kind, id(site.node)), PaddedLoss(kind, site, one.sink.site))
        except (Exhausted, RecursionError):
            continue
    return Padding(followed, tuple(found.values()))


# Padding and masks


def _paddings(run: Execution, value: Value) -> Iterator[tuple[str, Site]]:
    for one in ingredients(run, value):
        if isinstance(one, Applied):
            if _pads_tokens(one):
                yield TOKENS, one.site
            elif _pads_channels(one):
                yield CHANNELS, one.site


def _pads_tokens(value: Applied) -> bool:
    """`pad_sequence(...)`, `full(size, PAD)`, `pad(..., value=pad_id)`, `[pad] * n`."""
    last = value.callee.rpartition(".")[2]
    if last == "pad_sequence":
        return True
    named = bool(PAD.search(value.site.text.partition("(")[2] or value.site.text))
    if last in {"full", "full_like", "new_full", "fill_"}:
        return named
    if last == "pad" and value.callee != ".pad":
        return "value" in value.keywords and bool(PAD.search(value.site.text.rpartition("value")[2]))
    return value.callee == "*" and any(isinstance(arg, Items) for arg in value.args) and named


def _pads_channels(value: Applied) -> bool:
    """`cat([image, zeros], dim=0)`: channels that hold nothing."""
    if value.callee.rpartition(".")[2] not in {"cat", "concat", "concatenate"} or not value.args:
        return False
    joined = value.args[0].items if isinstance(value.args[0], Items) else []
    dim = value.keywords.get(
        "dim", value.keywords.get("axis", value.args[1] if len(value.args) > 1 else None)
    )
    along = dim.value if isinstance(dim, Constant) else 0 if dim is None else None
    zeros = [one for one in joined if _is_zeros(peeled(one))]
    return along in {0, 1, -3} and bool(zeros) and len(zeros) < len(joined)


def _is_zeros(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in {
        "zeros",
        "zeros_like",
        "new_zeros",
    }


def _is_masked(one: Minimised, parts: Sequence[Value]) -> bool:
    """Whether something on the way to the loss may take the padding out."""
    held = {id(part) for part in parts}
    return any(_may_mask(value, held) for value in ingredients(one.run, one.sink.value))


def _may_mask(value: Value, parts: set[int]) -> bool:
    match value:
        case Leaf(name=name):
            return bool(MASKING_WORDS.intersection(words(name)))
        case Part(key=str() as key):
            return bool(MASKING_WORDS.intersection(words(key))) and not isinstance(value.base, Instance)
        case Applied(callee=callee, args=args) if callee in COMPARISONS:
            return any(id(peeled(arg)) in parts for arg in args)
        case Applied(keywords=keywords, maker=maker):
            given = {*keywords, *(maker.keywords if maker is not None else ())}
            return bool(given & {"ignore_index", "mask", "reduction_mask", "weight"})
        case Delayed(keywords=keywords):
            return any(MASKING_WORDS.intersection(words(key)) for key in keywords)
    return False
