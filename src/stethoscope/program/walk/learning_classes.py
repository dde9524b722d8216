"""Which classes of a repository learn: they make layers with weights, or at least parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.syntax import all_nodes, own_nodes

LEARNING_LAYERS = (
    "Conv",
    "Linear",
    "Embedding",
    "LSTM",
    "GRU",
    "Parameter",
    "BatchNorm",
    "Attention",
    "Transformer",
)
FEW_CALLS = 2  # functions that call each other until one makes a layer
PARAMETER_MAKERS = frozenset({"Parameter", "ParameterDict", "ParameterList"})


@lru_cache(maxsize=4096)
def learns(index: Index, cls: Class) -> bool:
    """Whether a class makes layers with weights; a few learned scales, as for weighing losses, are none."""
    return any(not _is_scales(node) for node in _learning_calls(index, cls))


@lru_cache(maxsize=4096)
def has_parameters(index: Index, cls: Class) -> bool:
    """Whether a class makes anything that an optimizer could train."""
    return any(True for _ in _learning_calls(index, cls))


def _learning_calls(index: Index, cls: Class) -> Iterator[ast.Call]:
    for ancestor in index.lineage(cls):
        for node in all_nodes(ancestor.node):
            if isinstance(node, ast.Call):
                name = (dotted(node.func) or "").rpartition(".")[2]
                if _is_layer(name) or _is_learning_class(index, ancestor, name):
                    yield node


def _is_layer(name: str) -> bool:
    """Whether a name is one of layers: `LIFParameters` are numbers of a neuron."""
    if name.endswith("Parameters"):
        return False
    return any(word in name for word in LEARNING_LAYERS)


def _is_learning_class(index: Index, user: Class, name: str) -> bool:
    target = index.resolve(index.module_of(user.source), name) if name else None
    if isinstance(target, Function):
        is_module = any(base.endswith("Module") for base in index.outside_bases(user))
        return is_module and _makes_layers(index, target, FEW_CALLS)
    if not isinstance(target, Class) or target is user:
        return False
    return any(
        isinstance(node, ast.Call) and _is_layer((dotted(node.func) or "").rpartition(".")[2])
        for node in all_nodes(target.node)
    )


@lru_cache(maxsize=4096)
def _makes_layers(index: Index, function: Function, depth: int) -> bool:
    """Whether a function puts layers together, or calls one that does: `mlp(64, 128)`, `block(8, 16)`."""
    calls = (node for node in own_nodes(function.node, ast.Call))
    names = {(dotted(call.func) or "").rpartition(".")[2] for call in calls}
    if any(word in name for word in LEARNING_LAYERS for name in names):
        return True
    home = index.module_of(function.source)
    inner = (index.resolve(home, name) for name in names if name and depth)
    return any(isinstance(one, Function) and _makes_layers(index, one, depth - 1) for one in inner)


def _is_scales(call: ast.Call) -> bool:
    """`nn.Parameter(torch.zeros(()))`, or of a handful: no matrix, and nothing drawn at random."""
    if (dotted(call.func) or "").rpartition(".")[2] not in PARAMETER_MAKERS:
        return False
    made = call.args[0] if call.args else None
    if made is None:
        return (dotted(call.func) or "").rpartition(".")[2] != "Parameter"  # a list or dict of them
    inside = all_nodes(made, ast.Call)
    tensors = [
        node for node in inside if (dotted(node.func) or "").rpartition(".")[2] not in PARAMETER_MAKERS
    ]
    return bool(tensors) and all(_is_scale(node) for node in tensors)


def _is_scale(call: ast.Call) -> bool:
    last = (dotted(call.func) or "").rpartition(".")[2]
    if last == "tensor":
        return not any(isinstance(node, ast.List) and len(node.elts) > 16 for node in all_nodes(call))
    if last in {"zeros", "ones", "full"}:
        sizes = call.args[:1] if last == "full" else call.args
        return len(sizes) <= 1 and not any(isinstance(s, ast.Tuple | ast.List) and s.elts for s in sizes)
    return last in {"log", "float", "len", "exp", "sqrt"}
