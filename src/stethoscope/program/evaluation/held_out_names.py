"""What speaks of held-out data: the names of loaders and sets, and evaluations that go through them."""

from __future__ import annotations

import ast

from stethoscope.program.evaluation.evaluation_entries import EvaluationEntry
from stethoscope.program.evaluation.evaluations import DATA_WORDS, TRAINING_WORDS, names_in
from stethoscope.program.index import Function
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes

# fmt: off
EVALUATION_NAMES = frozenset({
    "validate", "validation", "valid", "val", "evaluate", "evaluation", "eval", "test", "testing", "dev",
})
# fmt: on


def measures_held_out(entry: EvaluationEntry, nodes: list[ast.AST]) -> bool:
    """Whether an evaluation is one by its name, or goes through data that are called held-out."""
    start = entry.start
    if isinstance(start, Function):
        named = set(words(start.name))
        if named & EVALUATION_NAMES and not named & TRAINING_WORDS and not entry.lines:
            return True
    for node in nodes:
        if isinstance(node, ast.Assign) and entry.lines:
            named = {word for target in node.targets for name in names_in(target) for word in words(name)}
            if named & DATA_WORDS and not named & TRAINING_WORDS:
                return True
        if isinstance(node, ast.For | ast.comprehension):
            named = {word for name in names_in(node.iter) for word in words(name)}
            if named & DATA_WORDS and not named & TRAINING_WORDS:
                return True
    return False


def plain_names(node: ast.AST) -> set[str]:
    """The variables and attributes that an expression mentions."""
    return {inner.id for inner in all_nodes(node, ast.Name)} | {
        inner.attr for inner in all_nodes(node, ast.Attribute)
    }


def held_out_names(nodes: list[ast.AST]) -> set[str]:
    """The names of held-out data, and of what runs over them together with others."""
    found: set[str] = set()
    for node in nodes:
        for name in plain_names(node) if isinstance(node, ast.Name | ast.Attribute) else ():
            if set(words(name)) & DATA_WORDS and not set(words(name)) & TRAINING_WORDS:
                found.add(name)
    for node in nodes:
        match node:
            case ast.For(target=ast.Name(id=name), iter=ast.Tuple() | ast.List() as listed):
                found |= {name} if found & plain_names(listed) else set()
    return found
