"""Rows that belong to patients or test persons, of whom there are several rows each, dealt out row by row.

What a network learns of a person in training it knows again in that person's held-out rows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stethoscope.program.data.leaks import HELD_OUT, TRAINING, Leak
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test

PERSONS = frozenset({"patient", "patients", "subject", "subjects", "participant", "participants"})
# What keeps the rows of one person together, or shows that somebody thought of it.
TOGETHER = ("Group", "group", "unique", "isin", "nunique", "LeaveOne", "drop_duplicates", "loso")
SET = re.compile(r"\bset\(")
ORDERS = frozenset({"permutation", "randperm"})
# Rows that are pieces of something longer, so that a person has many of them.
PIECES = frozenset({
    "beat", "beats", "segment", "segments", "slice", "slices", "window", "windows", "frame", "frames",
    "tile", "tiles", "patch", "patches", "clip", "clips", "scan", "scans", "start", "offset", "visit", "crop",
    "recording", "recordings", "trial", "trials", "utterance",
})  # fmt: skip


def dealt_persons(index: Index) -> Iterator[Leak]:
    """Every random split of rows whose table says which person each row is of."""
    texts = [module.source.text for module in index.modules.values() if not is_test(module.source)]
    column = next(
        (found for module in index.modules.values() if (found := _column(module.source.tree))), None
    )
    if column is None or any(word in text or SET.search(text) for text in texts for word in TOGETHER):
        return
    if not any(PIECES & _spoken(module.source.tree) for module in index.modules.values()):
        return
    for function in index.bodies:
        split = None if is_test(function.source) else _random_split(function)
        if split is not None:
            why = f"`{ast.unparse(split)}` deals out rows one by one, and several are of one {column}"
            yield Leak(function.source, split, split, why)
            return


def _column(tree: ast.AST) -> str | None:
    """The column that says whom a row is of: `row.patient_id`, `row["subject"]`."""
    for node in all_nodes(tree, ast.Attribute, ast.Subscript):
        key = (
            node.attr
            if isinstance(node, ast.Attribute)
            else _key(node)
            if isinstance(node, ast.Subscript)
            else ""
        )
        spoken = words(key) if key else ()
        if key and PERSONS.intersection(spoken) and (len(spoken) == 1 or "id" in spoken):
            return key
    return None


def _key(node: ast.Subscript) -> str:
    value = node.slice.value if isinstance(node.slice, ast.Constant) else ""
    return value if isinstance(value, str) else ""


def _spoken(tree: ast.AST) -> set[str]:
    names = (
        getattr(node, "id", getattr(node, "attr", "")) for node in all_nodes(tree, ast.Name, ast.Attribute)
    )
    return {word for name in names for word in words(str(name))}


def _random_split(function: Function) -> ast.AST | None:
    """A split of rows by a drawn order, by `train_test_split` or by `random_split`."""
    for call in own_nodes(function.node, ast.Call):
        if bare_name(call) in {"train_test_split", "random_split"} and not _is_in_order(call):
            return call
    orders = {
        name: node
        for node in own_nodes(function.node, ast.Assign)
        if isinstance(node.value, ast.Call) and bare_name(node.value) in ORDERS
        for name in (dotted(node.targets[0]),)
        if name
    }
    cut = [node for node in own_nodes(function.node, ast.Subscript) if dotted(node.value) in orders]
    sliced = [node for node in cut if isinstance(node.slice, ast.Slice)]
    spoken = {*words(function.name), *_spoken(function.node)}
    if len(sliced) >= 2 and (spoken & HELD_OUT or spoken & TRAINING or "split" in spoken):
        return orders[dotted(sliced[0].value) or ""]
    return None


def _is_in_order(call: ast.Call) -> bool:
    return any(
        word.arg == "shuffle" and isinstance(word.value, ast.Constant) and word.value.value is False
        for word in call.keywords
    )
