"""Copies of a network that should follow it, and that nothing moves.

A target network or momentum encoder begins as a copy. It stays one where the function that draws it after
the network is never called, or where it is called by such a name and nothing ever writes to it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.turned_averages import WEIGHTS
from stethoscope.program.syntax import all_nodes, bodies, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

FOLLOWING = frozenset({"target", "momentum", "ema", "slow", "averaged", "polyak", "moving", "tgt"})
STAYING = frozenset({"ref", "reference", "frozen", "initial", "init", "orig", "original", "old", "attack"})
WRITING = frozenset({"copy_", "lerp_", "mul_", "add_", "lerp", "load_state_dict", "_foreach_lerp_", "data"})
LOOKING = frozenset({"parameters", "state_dict", "named_parameters", "modules", "buffers"})


@dataclass(frozen=True, slots=True, eq=False)
class UnfollowedCopy:
    """Where a copy is made, where it is run, and the function that would move it, where there is one."""

    name: str
    source: Source
    made: ast.AST
    ran: tuple[Source, ast.AST]
    mover: Function | None


def unfollowed_copies(index: Index) -> Iterator[UnfollowedCopy]:
    """The copies of a program that trains."""
    sources = [source for source in index.program if not is_test(source)]
    if not any("backward(" in source.text for source in sources):
        return
    for source in sources:
        for name, made in (*_copies(source), *_twins(index, source)):
            found = _judged(index, sources, source, name, made)
            if found is not None:
                yield found


def _twins(index: Index, source: Source) -> Iterator[tuple[str, ast.Assign]]:
    """`self.q = Net(n)` and `self.q_target = Net(n)`: two of a kind, one named as what follows."""
    if not any(word in source.text.lower() for word in FOLLOWING):
        return
    module = index.module_of(source)
    for body in bodies(source.tree):
        made = [node for node in body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
        for node in made:
            name = (dotted(node.targets[0]) or "").rpartition(".")[2]
            if not FOLLOWING & set(words(name)) or STAYING & set(words(name)):
                continue
            target = index.resolve(module, dotted(getattr(node.value, "func", node)) or "")
            twins = [one for one in made if one is not node and ast.dump(one.value) == ast.dump(node.value)]
            if twins and isinstance(target, Class) and index.method(target, "forward") is not None:
                yield name, node


def _copies(source: Source) -> Iterator[tuple[str, ast.Assign]]:
    """`self.target = copy.deepcopy(net).eval()`; what is made in a loop over batches is made anew."""
    if "deepcopy(" not in source.text:
        return
    for node in all_nodes(source.tree, ast.Assign):
        pairs = [(node.targets[0], node.value)]
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(node.targets[0].elts, node.value.elts, strict=False))
        for target, value in pairs:
            name = (dotted(target) or "").rpartition(".")[2]
            if name and _is_copy(value):
                yield name, node


def _is_copy(value: ast.expr) -> bool:
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == "deepcopy":
            break
        value = value.func.value
    if not isinstance(value, ast.Call) or (dotted(value.func) or "").rpartition(".")[2] != "deepcopy":
        return False
    given = value.args[0] if value.args else None
    return given is not None and not (isinstance(given, ast.Call) and _last(given.func) in LOOKING)


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


def _judged(
    index: Index, sources: list[Source], source: Source, name: str, made: ast.Assign
) -> UnfollowedCopy | None:
    ran = next((found for one in sources if (found := _run(one, name)) is not None), None)
    if ran is None or _is_assigned_again(sources, name, made):
        return None
    near = [function for function in index.functions if not is_test(function.source)]
    writers = [function for function in near if _writes(function, name, made)]
    if writers:
        is_idle = all(
            not _is_mentioned(sources, function) and not _makes(function, made) for function in writers
        )
        return UnfollowedCopy(name, source, made, ran, writers[0]) if is_idle else None
    if _is_written_at_top(sources, name) or _is_handed_to_writer(index, sources, name):
        return None
    if _is_gone_through(sources, name):
        return None
    spoken = set(words(name))
    says_so = spoken & FOLLOWING and not spoken & STAYING and _is_of_network(made)
    return UnfollowedCopy(name, source, made, ran, None) if says_so else None


def _is_of_network(made: ast.Assign) -> bool:
    """Whether what is copied may be a network: a bare name, or what one is called."""
    if not any(_last(call.func) == "deepcopy" for call in all_nodes(made, ast.Call)):
        return True  # a second network of a kind
    copied = [
        call.args[0] for call in all_nodes(made, ast.Call) if _last(call.func) == "deepcopy" and call.args
    ]
    return bool(copied) and all(dotted(one) is not None for one in copied)


def _run(source: Source, name: str) -> tuple[Source, ast.AST] | None:
    """Where the copy is run."""
    if name not in source.text:
        return None
    for call in all_nodes(source.tree, ast.Call):
        if call.args and (dotted(call.func) or "").rpartition(".")[2] == name:
            return source, call
    return None


def _is_assigned_again(sources: list[Source], name: str, made: ast.Assign) -> bool:
    for source in sources:
        for node in all_nodes(source.tree, ast.Assign) if name in source.text else ():
            targets = [one for target in node.targets for one in all_nodes(target)]
            if node is not made and any((dotted(one) or "").rpartition(".")[2] == name for one in targets):
                return True
    return False


def _writes(function: Function, name: str, made: ast.Assign) -> bool:
    """Whether a function goes through the weights of the copy and writes, or loads others into it.

    Where the copy is made, that counts in the rounds of a loop only: before them it is how a copy begins.
    """
    if name not in function.source.text or function.name == "__init__":
        return False
    touched = [node for node in own_nodes(function.node) if _touches(node, name)]
    if _makes(function, made):
        whole: list[ast.For | ast.While] = [*own_nodes(function.node, ast.For)]
        whole.extend(own_nodes(function.node, ast.While))
        loops = [loop for loop in whole if not _is_over_weights(loop)]
        rounds = {id(node) for loop in loops for node in all_nodes(loop)}
        touched = [node for node in touched if id(node) in rounds]
    if not touched:
        return False
    return any(_last(node) in WRITING for node in own_nodes(function.node, ast.Attribute))


def _makes(function: Function, made: ast.Assign) -> bool:
    return any(node is made for node in own_nodes(function.node, ast.Assign))


def _is_over_weights(loop: ast.For | ast.While) -> bool:
    """`for p, q in zip(net.parameters(), target.parameters())`: no rounds of a training."""
    over = loop.iter if isinstance(loop, ast.For) else loop.test
    return any(_last(call.func) in WEIGHTS for call in all_nodes(over, ast.Call))


def _touches(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Attribute(value=owner, attr=attr) if attr in (*WEIGHTS, "load_state_dict", "named_buffers"):
            return (dotted(owner) or "").rpartition(".")[2] == name
    return False


def _is_mentioned(sources: list[Source], function: Function) -> bool:
    """Whether anything but its own definition names a function; a framework calls its hooks unseen."""
    if function.node.decorator_list and any(
        _last(one) not in {"no_grad", "inference_mode", "torch"} and not _is_no_grad(one)
        for one in function.node.decorator_list
    ):
        return True
    if function.name.startswith(("on_", "__", "configure_", "training_", "optimizer_")):
        return True
    pattern = re.compile(rf"\b{re.escape(function.name)}\b")
    return sum(len(pattern.findall(source.text)) for source in sources) > 1


def _is_no_grad(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _last(node.func) in {"no_grad", "inference_mode"}


def _is_written_at_top(sources: list[Source], name: str) -> bool:
    """Whether a script writes to the copy outside of functions."""
    for source in sources:
        if name not in source.text:
            continue
        for statement in source.tree.body:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                continue
            nodes = list(all_nodes(statement))
            if any(_touches(node, name) for node in nodes) and any(
                isinstance(node, ast.Attribute) and node.attr in WRITING for node in nodes
            ):
                return True
    return False


def _is_handed_to_writer(index: Index, sources: list[Source], name: str) -> bool:
    """Whether the copy is given to code that is not here, or to a function here that writes to weights."""
    for source in sources:
        for call in all_nodes(source.tree, ast.Call) if name in source.text else ():
            given = (*call.args, *(word.value for word in call.keywords))
            if not any((dotted(one) or "").rpartition(".")[2] == name for one in given):
                continue
            here = index.functions_named(_last(call.func))
            if not here or any(_writes_weights(function) for function in here):
                return True
    return False


def _is_gone_through(sources: list[Source], name: str) -> bool:
    """`for slow, fast in ((q_slow, q), (pi_slow, pi))`: what is written is called otherwise there."""
    for source in sources:
        for loop in all_nodes(source.tree, ast.For) if name in source.text else ():
            lists = {name, *_lists_with(source, name)}
            listed = [one for one in all_nodes(loop.iter, ast.Name, ast.Attribute) if _last(one) in lists]
            is_read = any(_touches(one, name) for one in all_nodes(loop.iter))
            writes = any(node.attr in WRITING for node in all_nodes(loop, ast.Attribute))
            if listed and not is_read and writes:
                return True
    return False


def _lists_with(source: Source, name: str) -> set[str]:
    """What lists that hold a copy are called: `targets = [self.q1_target, self.q2_target]`."""
    return {
        _last(target)
        for node in all_nodes(source.tree, ast.Assign)
        if isinstance(node.value, ast.List) and any(_last(one) == name for one in node.value.elts)
        for target in node.targets
    }


def _writes_weights(function: Function) -> bool:
    return any(_last(node) in WRITING for node in own_nodes(function.node, ast.Attribute))
