"""Weights that are thawed in the middle of a training whose optimizer was made without them.

for p in model.encoder.parameters():
    p.requires_grad = False
optimizer = AdamW(p for p in model.parameters() if p.requires_grad)
for epoch in range(10):
    if epoch == 2:
        model.encoder.requires_grad_(True)     # gradients from here on, and no updates
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index, dotted
from stethoscope.program.loop.roles import OPTIMIZER_CLASSES
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, Spot, mentions
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# What gives an optimizer further weights, or makes it anew.
FURTHER = (
    "add_param_group",
    "create_optimizer",
    "BaseFinetuning",
    "BackboneFinetuning",
    "param_groups.append",
)
FIRST = ("setup", "fit_start", "train_begin", "train_start", "init_end")  # hooks that come once


@dataclass(frozen=True, slots=True, eq=False)
class ThawedTooLate:
    """Where weights are frozen and thawed, and what was made in between of those that were not frozen."""

    name: str
    frozen: Spot
    made: Spot
    thawed: Spot


@remembered
def thawed_too_late(index: Index) -> tuple[ThawedTooLate, ...]:
    """The weights that a program thaws when its only optimizer is made already."""
    sources = [source for source in index.program if not is_test(source)]
    if any(word in source.text for source in sources for word in FURTHER):
        return ()
    if not any("requires_grad" in source.text for source in sources):
        return ()
    code = mentions(index)
    made = _made_of_the_rest(index, code)
    switches = [one for source in sources for one in _switches(source)] if made is not None else []
    found = []
    for name, spot, to in switches:
        early = [one for one in switches if one[0] == name and _is_early(one[1], made, code)]
        frozen = [one[1] for one in early if not one[2]]
        if to and made is not None and frozen and _is_late(spot, made, code):
            found.append(ThawedTooLate(name, frozen[0], made, spot))
    return tuple(found[:1])


def _made_of_the_rest(index: Index, code: Mentions) -> Spot | None:
    """The only optimizer, where it is made of what needs gradients then: also by transformers' Trainer."""
    optimizers = [
        spot for name in OPTIMIZER_CLASSES for spot in code.calls.get(name, ()) if not is_test(spot.source)
    ]
    if len(optimizers) == 1:
        return optimizers[0] if _asks_for_gradients(optimizers[0], code) else None
    trainers = [spot for spot in code.calls.get("Trainer", ()) if not is_test(spot.source)]
    if optimizers or len(trainers) != 1 or not isinstance(trainers[0].node, ast.Call):
        return None
    is_told = any(word.arg in {"optimizers", None} for word in trainers[0].node.keywords)
    home = index.module_of(trainers[0].source).imports.get("Trainer", "")
    return trainers[0] if home.startswith("transformers") and not is_told else None


def _asks_for_gradients(spot: Spot, code: Mentions) -> bool:
    """`filter(lambda p: p.requires_grad, ...)`, written there or kept under a name before."""
    if not isinstance(spot.node, ast.Call) or not spot.node.args:
        return False
    given = spot.node.args[0]
    kept = code.given.get(given.id, ()) if isinstance(given, ast.Name) else ()
    texts = [ast.unparse(given), *(ast.unparse(one.node) for one in kept)]
    return any("requires_grad" in text for text in texts)


def _switches(source: Source) -> Iterator[tuple[str, Spot, bool]]:
    """Every switch of the gradients of all weights of something: its name, where, and on or off."""
    for node in all_nodes(source.tree):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="requires_grad_"), args=args):
                to = args[0].value if args and isinstance(args[0], ast.Constant) else not args
                if isinstance(to, bool) and (name := _last(owner)):
                    yield name, Spot(node, source), to
            case ast.For(
                target=ast.Name(id=each),
                iter=ast.Call(func=ast.Attribute(value=owner, attr="parameters")),
                body=body,
            ):
                said = [ast.unparse(one).replace(each, "p", 1) for one in body]
                if said in (["p.requires_grad = True"], ["p.requires_grad = False"]) and (
                    name := _last(owner)
                ):
                    yield name, Spot(node.iter, source), said[0].endswith("True")


def _last(owner: ast.expr) -> str:
    """`encoder` of `self.model.encoder`; a whole model without a part's name says too little."""
    name = dotted(owner) or ""
    return name.rpartition(".")[2]


def _is_early(spot: Spot, made: Spot | None, code: Mentions) -> bool:
    """Whether this is done once and not by a hook, which may come when the optimizer is there."""
    return not getattr(code.scope_of(spot.node), "name", "").startswith("on_") and not _is_late(
        spot, made, code
    )


def _is_late(spot: Spot, made: Spot | None, code: Mentions) -> bool:
    """Whether this happens in training: in a hook of every round, or in a loop behind the making."""
    scope = code.scope_of(spot.node)
    if isinstance(scope, ast.FunctionDef) and scope.name.startswith("on_"):
        return not scope.name.endswith(FIRST)
    if made is None or code.scope_of(made.node) is not scope or spot.node.lineno < made.node.lineno:
        return False
    around = code.parents.get(id(spot.node))
    while around is not None and around is not scope:
        # The loop over the weights themselves is none.
        if isinstance(around, ast.While) or (isinstance(around, ast.For) and around.iter is not spot.node):
            return True
        around = code.parents.get(id(around))
    return False
