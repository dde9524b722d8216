"""Numbers of an optimizer that stand in each other's place, and targets that are smoothed away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.fractions_for_steps import HOPS, number_told
from stethoscope.program.settings.mentions import Mentions, Spot, mentions, text_of
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.entries import is_test

RATE = frozenset({"lr", "rate"})
DECAY = frozenset({"wd", "decay"})
SMOOTHING = {
    "CrossEntropyLoss": "label_smoothing",
    "cross_entropy": "label_smoothing",
    "LabelSmoothingCrossEntropy": "smoothing",
    "TrainingArguments": "label_smoothing_factor",
    "Seq2SeqTrainingArguments": "label_smoothing_factor",
}
ADAMS = (
    "Adam",
    "AdamW",
    "NAdam",
    "RAdam",
    "Adamax",
    "FusedAdam",
    "AdamW8bit",
    "Adam8bit",
    "DeepSpeedCPUAdam",
)
MOST = 0.9  # of a label: with more, the right class hardly differs from the others
LONGER = 0.04  # what the first average may remember longer than the second


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """A call, what it is told there, and the number where it is known."""

    spot: Spot
    told: ast.expr
    number: float | None = None
    other: float | None = None


def exchanged_rates(index: Index) -> Iterator[Told]:
    """Calls that are told a weight decay as the learning rate and a learning rate as the weight decay."""
    code = mentions(index)
    for spots in code.calls.values():
        for spot in spots:
            given = _words(spot)
            rate, decay = given.get("lr", given.get("learning_rate")), given.get("weight_decay")
            if rate is None or decay is None or is_test(spot.source):
                continue
            if _is_named(rate, DECAY, RATE) and _is_named(decay, RATE, DECAY):
                yield Told(spot, rate)


def smoothed_away(index: Index, settings: SettingsTree) -> Iterator[Told]:
    """Label smoothing that leaves next to nothing of a label."""
    code = mentions(index)
    for name, option in SMOOTHING.items():
        for spot in code.calls.get(name, ()):
            told = _words(spot).get(option)
            number = number_told(told, code, settings, HOPS) if told is not None else None
            if told is not None and number is not None and number >= MOST and not is_test(spot.source):
                yield Told(spot, told, number)


def exchanged_betas(index: Index, settings: SettingsTree) -> Iterator[Told]:
    """Optimizers like Adam whose average of gradients is longer than that of their squares."""
    code = mentions(index)
    for name in ADAMS:
        for spot in code.calls.get(name, ()):
            told = _words(spot).get("betas")
            pair = _pair(told, code, settings) if told is not None else None
            if told is not None and pair is not None and not is_test(spot.source):
                first, second = pair
                if second + LONGER < first < 1:
                    yield Told(spot, told, first, second)


def _words(spot: Spot) -> dict[str, ast.expr]:
    keywords = spot.node.keywords if isinstance(spot.node, ast.Call) else []
    return {word.arg: word.value for word in keywords if word.arg is not None}


def _is_named(node: ast.expr, said: frozenset[str], not_said: frozenset[str]) -> bool:
    """Whether the last name of an expression says one thing, and not the other."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            text = name
        case ast.Subscript(slice=key) | ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]):
            text = text_of(key) or ""
        case _:
            return False
    spoken = frozenset(words(text))
    return bool(spoken & said) and not spoken & not_said


def _pair(
    node: ast.expr, code: Mentions, settings: SettingsTree, hops: int = HOPS
) -> tuple[float, float] | None:
    """Two numbers: written as a row, or the one row of that name in the settings."""
    if isinstance(node, ast.Call) and dotted(node.func) in {"tuple", "list"} and node.args:
        return _pair(node.args[0], code, settings, hops)
    if isinstance(node, ast.Name) and len(code.given.get(node.id, ())) == 1 and node.id not in code.changed:
        return _pair(code.given[node.id][0].node, code, settings, hops - 1) if hops else None
    if isinstance(node, ast.Tuple | ast.List):
        found = [number_told(one, code, settings, HOPS) for one in node.elts]
    else:
        name = (dotted(node) or "").rpartition(".")[2] or _key(node)
        rows = [row for row in settings.values_named(name) if isinstance(row, list)]
        found = (
            [float(one) if isinstance(one, int | float) else None for one in rows[0]]
            if len(rows) == 1
            else []
        )
    known = [one for one in found if one is not None]
    return (known[0], known[1]) if len(known) == len(found) == 2 else None


def _key(node: ast.expr) -> str:
    return (text_of(node.slice) or "") if isinstance(node, ast.Subscript) else ""
