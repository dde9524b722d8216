"""The trainers of Hugging Face's kind that a program makes, and the calls that start them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, External, Index, Module, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test, statement_nodes
from stethoscope.program.walk.framework_bases import TRAINER_ARGUMENTS, TRAINERS, TRAINERS_BY_NAME, is_trainer
from stethoscope.run import Source

LIBRARIES = ("transformers", "trl")


@dataclass(frozen=True, slots=True, eq=False)
class TrainerMade:
    """A call that makes a trainer: its class where that is the repository's, and the nodes around it."""

    call: ast.Call
    source: Source
    cls: Class | None
    around: tuple[ast.AST, ...]

    def given(self, name: str) -> ast.expr | None:
        """The expression of an argument."""
        for keyword in self.call.keywords:
            if keyword.arg == name:
                return keyword.value
        place = TRAINER_ARGUMENTS.index(name) if name in TRAINER_ARGUMENTS else len(self.call.args)
        is_plain = not any(isinstance(arg, ast.Starred) for arg in self.call.args)
        return self.call.args[place] if is_plain and place < len(self.call.args) else None

    @property
    def starts(self) -> Iterator[ast.Call]:
        """The calls of `train` beside it."""
        for node in self.around:
            if isinstance(node, ast.Call) and bare_name(node) == "train" and self._is_of(node):
                yield node

    def _is_of(self, call: ast.Call) -> bool:
        """Whether a method is called of this trainer: by the name that it is given, or at once."""
        holder = call.func.value if isinstance(call.func, ast.Attribute) else None
        if holder is self.call:
            return True
        names = {
            dotted(target)
            for node in self.around
            if isinstance(node, ast.Assign) and node.value is self.call
            for target in node.targets
        }
        return holder is not None and dotted(holder) in names


@remembered
def trainers_made(index: Index) -> tuple[TrainerMade, ...]:
    """Every trainer that the program makes, tests left out."""
    return tuple(
        made
        for module in index.modules.values()
        if "Trainer" in module.source.text and not is_test(module.source)
        for made in _in_module(index, module)
    )


def _in_module(index: Index, module: Module) -> Iterator[TrainerMade]:
    functions = [node for node in all_nodes(module.source.tree) if isinstance(node, FunctionNode)]
    for nodes in (statement_nodes(module.source.tree), *(own_nodes(function) for function in functions)):
        around = tuple(nodes)
        for node in around:
            if isinstance(node, ast.Call):
                target = index.resolve(module, dotted(node.func) or "")
                if isinstance(target, Class) and is_trainer(index, target):
                    yield TrainerMade(node, module.source, target, around)
                elif isinstance(target, External) and _is_outside_trainer(target.name):
                    yield TrainerMade(node, module.source, None, around)


def _is_outside_trainer(name: str) -> bool:
    last = name.rpartition(".")[2]
    return name.startswith(LIBRARIES) and last in TRAINERS | TRAINERS_BY_NAME
