"""Training loops that cut their batches out of arrays one after the other, in every epoch alike.

`for i in range(0, len(x), size): x[i : i + size], y[i : i + size]`, in the loop or in a generator. Two arrays
must be cut at the same places: inputs and their labels. One array cut alone is often a text or a series that
is read in its order on purpose.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import FunctionNode, all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

# fmt: off
MIXING = frozenset({
    "shuffle", "shuffle_", "shuffled", "randperm", "permutation", "permuted", "train_test_split", "sample",
    "multinomial", "choice", "choices", "random_split", "argsort", "sort", "roll",
})
ON_PURPOSE = frozenset({
    "seq", "sequence", "bptt", "block", "context", "window", "time", "chunk", "horizon", "curriculum",
    "frames", "series", "stream", "streaming", "online", "replay", "rollout", "past", "lag", "tbptt",
    "stateful", "hidden",
})
# fmt: on
FEWEST = 2  # arrays that are cut at the same places


def cut_in_order(loop: TrainingLoop, index: Index) -> Iterator[Site]:
    """The places at which the batches of a loop are cut in order, where epochs repeat it."""
    if len(loop.loops) < FEWEST:
        return
    for scope in loop.loops[:-1]:
        node = scope.node
        if not isinstance(node, ast.For):
            continue
        if is_of_one_batch(node, loop):
            continue
        if _cuts(node) and not _mixes(scope.source) and not _is_on_purpose(node):
            yield Site(scope.source, node)
        for function in _generators(node, scope.source, index):
            cut = next((one for one in own_nodes(function.node, ast.For) if _cuts(one)), None)
            if cut is None or _mixes(scope.source) or _mixes(function.source):
                continue
            if not _is_on_purpose(function.node) and not _is_on_purpose(node.iter):
                yield Site(scope.source, node.iter)


def is_of_one_batch(cut: ast.For, loop: TrainingLoop) -> bool:
    """Whether what is cut is a batch that a loop around drew already: the parts of one update."""
    others = [one.node for one in loop.loops if isinstance(one.node, ast.For) and one.node is not cut]
    drawn = {
        name.id
        for other in others
        if not isinstance(other.iter, ast.Call) or bare_name(other.iter) != "range"
        for name in all_nodes(other.target, ast.Name)
    }
    parts = [node for node in all_nodes(cut, ast.Subscript) if isinstance(node.slice, ast.Slice)]
    return any(name.id in drawn for node in parts for name in all_nodes(node.value, ast.Name))


def _generators(loop: ast.For, source: Source, index: Index) -> Iterator[Function]:
    """The functions of the program in the head of a loop that yield."""
    module = index.module_of(source)
    for node in all_nodes(loop.iter):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func) or ""
        found = index.resolve(module, name)
        named = index.functions_named(name.rpartition(".")[2]) if not isinstance(found, Function) else [found]
        for function in named if len(named) == 1 else ():
            if isinstance(found, Class):
                continue
            if any(isinstance(one, ast.Yield) for one in own_nodes(function.node)):
                yield function


def _cuts(loop: ast.For) -> bool:
    """Whether a loop over numbers cuts two arrays at the same places."""
    if not (isinstance(loop.iter, ast.Call) and isinstance(loop.target, ast.Name)):
        return False
    header = loop.iter
    while (dotted(header.func) or "").rpartition(".")[2] in {"tqdm", "trange"} and header.args:
        inner = header.args[0]
        if not isinstance(inner, ast.Call):
            break
        header = inner
    if (dotted(header.func) or "").rpartition(".")[2] != "range":
        return False
    made = {loop.target.id}
    for node in all_nodes(loop):  # `start = i * size`, `rows = slice(i, i + size)`
        if isinstance(node, ast.Assign) and _mentions(node.value, made) and _is_plain(node.value):
            made |= {one.id for target in node.targets for one in all_nodes(target, ast.Name)}
    cut: dict[str, set[str]] = {}
    for node in all_nodes(loop):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            place = (
                node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
            )
            is_row = isinstance(place, ast.Slice) or (
                isinstance(place, ast.Name) and _is_slice(loop, place.id)
            )
            if is_row and _mentions(place, made):
                cut.setdefault(ast.unparse(place), set()).add(ast.unparse(node.value))
    return any(len(arrays) >= FEWEST for arrays in cut.values())


def _is_plain(value: ast.expr) -> bool:
    """Whether a value is computed from numbers: no array is looked up in it."""
    calls = (node for node in all_nodes(value, ast.Call))
    return not any(isinstance(node, ast.Subscript) for node in all_nodes(value)) and all(
        (dotted(call.func) or "") in {"min", "slice", "len", "int", "max"} for call in calls
    )


def _is_slice(loop: ast.For, name: str) -> bool:
    return any(
        isinstance(node, ast.Assign)
        and any(getattr(target, "id", "") == name for target in node.targets)
        and isinstance(node.value, ast.Call)
        and dotted(node.value.func) == "slice"
        for node in all_nodes(loop)
    )


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in names for one in all_nodes(node))


def _mixes(source: Source) -> bool:
    """Whether anything in a file is put into a random or another order."""
    if not any(word in source.text for word in MIXING):
        return False
    return any(
        isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] in MIXING
        for node in all_nodes(source.tree)
    )


def _is_on_purpose(node: ast.AST) -> bool:
    """Whether the names say that what is read has an order to keep."""
    return bool(spoken_words(node) & ON_PURPOSE)


def spoken_words(node: ast.AST) -> set[str]:
    """The words of the names that a piece of code mentions."""
    named = [node.name] if isinstance(node, FunctionNode) else []
    found = (getattr(one, "id", getattr(one, "attr", None)) for one in all_nodes(node))
    named += [name for name in found if isinstance(name, str)]
    return {word for name in named for word in words(name)}
