"""Padding masks followed from torch's attention back to where they are made, through batches and calls.

Torch's `key_padding_mask` leaves out what is true. A mask that is true at the real tokens (`ids != pad`,
places below the lengths, a tokenizer's `attention_mask`) leaves attention nothing but padding.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.batches import drawn, is_loader
from stethoscope.program.data.ingredients import peeled
from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import minimised
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    Items,
    Part,
    Value,
    inputs,
    is_nothing,
)
from stethoscope.program.weights.mask_polarity import KEEPING, LEAVE, LOOK, NEGATING, TurnedMask

MOST_VISITED = 1_500
DEPTH = 24
ASKED = "key_padding_mask"
EQUAL, UNEQUAL = frozenset({"==", "eq"}), frozenset({"!=", "ne"})
# Whether a comparison is true where its left side is the smaller one.
BELOW = {"<": True, "<=": True, "lt": True, "le": True, ">": False, ">=": False, "gt": False, "ge": False}
EMPTY = {"zeros": False, "zeros_like": False, "new_zeros": False, "ones": True, "ones_like": True}
_OTHER = {LOOK: LEAVE, LEAVE: LOOK}


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """A walk, and the tokens that its networks look up in tables of embeddings."""

    run: Execution
    tokens: frozenset[int]


@remembered
def turned_paddings(index: Index, settings: SettingsTree) -> tuple[TurnedMask, ...]:
    """The padding masks of torch's attention that mark the real tokens."""
    found: dict[int, TurnedMask] = {}
    if not any(ASKED in source.text for source in index.program):
        return ()
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            for mask in _turned(one.run, one.sink.value):
                found.setdefault(id(mask.mask), mask)
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _turned(run: Execution, loss: Value) -> Iterator[TurnedMask]:
    behind = tuple(_behind(run, loss))
    looked_up = (one.args[0] for one in behind if one.callee.endswith("Embedding()") and one.args)
    seen = _Reading(run, frozenset(id(_bare(run, tokens)) for tokens in looked_up))
    for call in behind:
        node = call.site.node
        if not isinstance(node, ast.Call):
            continue
        for word in node.keywords:
            mask = call.keywords.get(word.arg) if word.arg and word.arg.endswith(ASKED) else None
            if mask is not None and _marks(seen, mask, DEPTH) == LOOK:
                yield TurnedMask(call.site.source, word.value, node, is_padding=True)


def _behind(run: Execution, loss: Value) -> Iterator[Applied]:
    """Every call that a loss is made from, through networks and their layers."""
    seen: set[int] = set()
    waiting = deque([loss])
    while waiting and len(seen) < MOST_VISITED:
        value = waiting.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Applied):
            yield value
        waiting.extend([run.expand(value)] if isinstance(value, Delayed) else inputs(value))


def _bare(run: Execution, value: Value) -> Value:
    value = peeled(value)
    while isinstance(value, Delayed):
        value = peeled(run.expand(value))
    return value


def _marks(seen: _Reading, value: Value, depth: int) -> str | None:
    """What a mask is true at: LOOK for the real tokens, LEAVE for the padding."""
    if depth == 0:
        return None
    match value:
        case Delayed():
            return _marks(seen, seen.run.expand(value), depth - 1)
        case Choice(options=options):
            return _agreed(seen, (one for one in options if not is_nothing(one)), depth)
        case Part():
            batch = peeled(value)
            while isinstance(batch, Part):
                batch = batch.base
            if is_loader(batch):
                return _agreed(seen, drawn(seen.run, value), depth)
            return LOOK if value.key == "attention_mask" and isinstance(batch, Applied) else None
        case Applied():
            return _of_call(seen, value, depth - 1)
    return None


def _agreed(seen: _Reading, values: Iterator[Value], depth: int) -> str | None:
    found = {_marks(seen, one, depth - 1) for one in values}
    return found.pop() if len(found) == 1 else None


def _of_call(seen: _Reading, call: Applied, depth: int) -> str | None:
    last = call.callee.rpartition(".")[2] or call.callee
    if last in {"~", "invert", "not"} | NEGATING:
        return _turn(_marks(seen, call.args[0], depth))
    if last in EQUAL | UNEQUAL and len(call.args) == 2:
        marks = _of_comparison(seen, call, depth)
        return marks if last in EQUAL else _turn(marks)
    if last in BELOW and len(call.args) == 2:
        return _of_places(seen, *call.args, BELOW[last])
    if call.callee == "[]=" and len(call.args) == 3:
        return _of_filling(call)
    if last in KEEPING or call.callee == "[]":
        return _marks(seen, call.args[0], depth) if call.args else None
    return None


def _turn(marks: str | None) -> str | None:
    return _OTHER[marks] if marks is not None else None


def _of_comparison(seen: _Reading, call: Applied, depth: int) -> str | None:
    """What an equality is true at: the pads, where tokens are compared; the same marks, where marks are."""
    left, right = call.args
    marks = _marks(seen, left, depth)
    if marks is not None:
        return marks if isinstance(right, Constant) and right.value in (1, True) else _turn(marks)
    if _names_padding(call.site.node):
        return LEAVE
    return LEAVE if isinstance(right, Constant) and id(_bare(seen.run, left)) in seen.tokens else None


def _names_padding(node: ast.AST) -> bool:
    """Whether what is compared with is called the pad: `ids == PAD`, `ids.ne(self.pad_id)`."""
    match node:
        case ast.Compare(comparators=[other]) | ast.Call(args=[other]) | ast.Call(args=[_, other]):
            last = getattr(other, "attr", None) or getattr(other, "id", "")
            spoken = set(words(str(last).lower()))
            return bool(spoken & {"pad", "padding"}) and not spoken & {"mask"}
    return False


def _of_places(seen: _Reading, left: Value, right: Value, below: bool) -> str | None:
    """`torch.arange(t) < lengths` is true at the real tokens."""
    counts = [_counts(seen.run, side) for side in (left, right)]
    if counts == [True, False]:
        return LOOK if below else LEAVE
    return (LEAVE if below else LOOK) if counts == [False, True] else None


def _counts(run: Execution, value: Value) -> bool:
    value = _bare(run, value)
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] == "arange"


def _of_filling(call: Applied) -> str | None:
    """`mask[i, : len(row)] = 1` in zeros marks the real tokens; `mask[i, len(row) :] = 1` the padding."""
    base, key, given = call.args
    while isinstance(base, Applied) and base.callee == "[]=":
        base = base.args[0]
    began = EMPTY.get(base.callee.rpartition(".")[2]) if isinstance(base, Applied) else None
    if began is None or not isinstance(given, Constant) or bool(given.value) is began:
        return None
    cut = key.items[-1] if isinstance(key, Items) and key.items else key
    match cut:
        case Applied(callee="slice", args=[first, last, *_]) if is_nothing(first) and not is_nothing(last):
            return LEAVE if began else LOOK
        case Applied(callee="slice", args=[first, last, *_]) if is_nothing(last) and not is_nothing(first):
            return LOOK if began else LEAVE
    return None
