"""Losses over all nodes of a graph, of which some are held out by a mask.

Where one table holds training and held-out samples, a mask or a list of places parts them: the score is taken
of `y[val_mask]`. A loss over all of `y` learns the answers that the score asks for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.leaks import HELD_OUT, TRAINING, Leak
from stethoscope.program.index import Index, Module
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import FunctionNode, all_nodes, functions, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test

# What parts samples without an index, so that the loss may be of some of them after all.
PARTING = frozenset({"mask", "masks", "masked", "weight", "weights", "idx", "indices", "split"})


def whole_losses(index: Index) -> Iterator[Leak]:
    """Every loss over a table that is measured on its held-out part."""
    for module in index.modules.values():
        if is_test(module.source):
            continue
        own = functions(module.source.tree)
        for trains in own:
            for labels, loss in _labels_learned(trains):
                for measures in own:
                    held = _held_out_part(measures, labels)
                    if held is not None and _are_one_table(module, trains, measures, labels):
                        why = f"the loss is of all of {labels}, of which `{ast.unparse(held)}` is held out"
                        yield Leak(module.source, held, loss, why)
                        break


def _labels_learned(function: FunctionNode) -> Iterator[tuple[str, ast.Call]]:
    """The tables that a loss with a backward pass behind it is given whole: `cross_entropy(out, data.y)`."""
    nodes = own_nodes(function)
    learned = {
        ast.unparse(call.func.value)
        for call in own_nodes(function, ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "backward"
    }
    names = (getattr(node, "id", "") or getattr(node, "attr", "") for node in nodes)
    if not learned or any(PARTING.intersection(words(name)) for name in names):
        return
    for node in own_nodes(function, ast.Assign):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(args=[_, ast.Attribute() as labels]) as loss
            ):
                if name in learned and {"loss", "entropy", "criterion", "nll"}.intersection(
                    words(bare_name(loss))
                ):
                    yield ast.unparse(labels), loss


def _held_out_part(function: FunctionNode, labels: str) -> ast.Subscript | None:
    """`data.y[data.val_mask]`, also where a loop goes through the masks."""
    spoken = {word for node in own_nodes(function, ast.Attribute) for word in words(node.attr)}
    for node in own_nodes(function):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == labels:
            named = {word for one in all_nodes(node.slice) for word in words(_name(one))}
            is_mask = bool(named & {"mask", "idx", "index", "m", "split"}) and bool(spoken & HELD_OUT)
            if (named & HELD_OUT or is_mask) and not named & TRAINING:
                return node
    return None


def _name(node: ast.AST) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")


def _are_one_table(module: Module, trains: FunctionNode, measures: FunctionNode, labels: str) -> bool:
    """Whether both functions are handed the same object, or neither is handed it."""
    root = labels.partition(".")[0]
    if root == "self":
        owners = (node for node in all_nodes(module.source.tree, ast.ClassDef))
        return trains is not measures and any({trains, measures} <= set(owner.body) for owner in owners)
    given = [_handed(module, function, root) for function in (trains, measures)]
    return trains is not measures and bool(given[0] & given[1])


def _handed(module: Module, function: FunctionNode, root: str) -> set[str]:
    """What a name of a function stands for where the function is called; itself where it is no parameter."""
    parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if root not in parameters:
        is_taken = any(
            isinstance(one, ast.For | ast.comprehension) and root in _targets(one)
            for one in own_nodes(function)
        )
        return set() if is_taken else {root}
    place = parameters.index(root)
    calls = (one for one in all_nodes(module.source.tree, ast.Call) if bare_name(one) == function.name)
    found = set()
    for call in calls:
        named = {one.arg: one.value for one in call.keywords}
        value = call.args[place] if len(call.args) > place else named.get(root)
        if value is not None and not (HELD_OUT | TRAINING).intersection(words(ast.unparse(value))):
            found.add(ast.unparse(value))
    return found


def _targets(loop: ast.For | ast.comprehension) -> set[str]:
    return {one.id for one in all_nodes(loop.target, ast.Name)}
