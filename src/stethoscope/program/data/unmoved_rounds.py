"""Orders that are drawn from a count of the rounds, where nothing ever counts them.

def __init__(self): self.epoch = 0
def __iter__(self): rng = random.Random(self.seed + self.epoch)     every round draws what the first one drew
def set_epoch(self, epoch): self.epoch = epoch                      which nobody calls
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

SEEDING = frozenset({"Random", "default_rng", "RandomState", "manual_seed", "seed", "Generator", "PRNGKey"})
ROUNDS = frozenset(
    {"epoch", "epochs", "round", "rounds", "turn", "pass", "passes", "iteration", "cycle", "it"}
)
# Frameworks that tell samplers and streams the epoch by themselves.
TELLING = ("lightning", "accelerate", "transformers", "composer", "ignite", "datasets", "mosaicml", "fastai")


@dataclass(frozen=True, slots=True, eq=False)
class UnmovedRounds:
    """Where chance is seeded, where the count begins, and what it is called."""

    seeded: Site
    begun: Site
    name: str


@remembered
def unmoved_rounds(index: Index) -> tuple[UnmovedRounds, ...]:
    """Every count of rounds that seeds a stream or an order and never moves."""
    texts = [module.source.text for module in index.modules.values()]
    return tuple(
        found
        for cls in index.classes
        if not is_test(cls.source) and "__iter__" in cls.methods
        for found in _of_class(index, cls, any(word in text for text in texts for word in TELLING))
    )


def _of_class(index: Index, cls: Class, is_told: bool) -> Iterator[UnmovedRounds]:
    init = cls.methods.get("__init__")
    if init is None or not _is_made(index, cls):
        return
    begun = dict(_begun(init.node))
    for call in own_nodes(cls.methods["__iter__"].node, ast.Call):
        if bare_name(call) not in SEEDING:
            continue
        for name in sorted({one.attr for one in all_nodes(call, ast.Attribute)} & begun.keys()):
            if not _moves(index, cls, name, is_told):
                source = cls.source
                yield UnmovedRounds(Site(source, call), Site(source, begun[name]), f"self.{name}")
                return


def _is_made(index: Index, cls: Class) -> bool:
    """Whether the program makes such an object: of a library's class, others count the rounds."""
    return any(
        (dotted(call.func) or "").rpartition(".")[2] == cls.name
        for module in index.modules.values()
        for call in all_nodes(module.source.tree, ast.Call)
    )


def _begun(init: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.AST]]:
    """The counts of rounds that an object begins with zero."""
    for node in own_nodes(init, ast.Assign):
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            for one, value in pairs:
                is_zero = isinstance(value, ast.Constant) and value.value == 0
                if isinstance(one, ast.Attribute) and is_zero and ROUNDS & set(words(one.attr)):
                    yield one.attr, node


def _moves(index: Index, cls: Class, name: str, is_told: bool) -> bool:
    """Whether anything stores the count: its own methods that are called, or somebody from outside."""
    for method in cls.methods.values():
        stores = method.name != "__init__" and any(_stores(node, name) for node in all_nodes(method.node))
        if stores and (method.name.startswith("__") or is_told or _is_called(index, method.name)):
            return True
    inside = {id(node) for node in all_nodes(cls.node)}
    return any(
        _stores(node, name) and id(node) not in inside
        for module in index.modules.values()
        for node in all_nodes(module.source.tree)
    )


def _stores(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call) and bare_name(node) == "setattr":
        return True
    return isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store)


def _is_called(index: Index, name: str) -> bool:
    return any(
        bare_name(call) == name or (bare_name(call) in {"getattr", "hasattr"} and name in ast.unparse(call))
        for module in index.modules.values()
        for call in all_nodes(module.source.tree, ast.Call)
    )
