"""What a value went through last: a softmax, a sigmoid, or neither.

The value is followed back through views, casts, functions of the repository, the networks' forward, what they
return by name or place, and the layers of a chain, from the last one backwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stethoscope.program.data.ingredients import LAYOUT
from stethoscope.program.walk import calls
from stethoscope.program.walk.chained_layers import layers_of
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    Instance,
    Items,
    Leaf,
    Part,
    Site,
    Table,
    Value,
)

DEPTH = 24  # calls looked through between a loss and what made its input

ACTIVATIONS = {
    "softmax": "softmax",
    "Softmax": "softmax",
    "Softmax2d": "softmax",
    "gumbel_softmax": "softmax",
    "log_softmax": "log_softmax",
    "LogSoftmax": "log_softmax",
    "sigmoid": "sigmoid",
    "sigmoid_": "sigmoid",
    "Sigmoid": "sigmoid",
    "expit": "sigmoid",
    "hardsigmoid": "sigmoid",
    "Hardsigmoid": "sigmoid",
    "logsigmoid": "logsigmoid",
    "LogSigmoid": "logsigmoid",
}
# What an exponential makes of logarithms.
OF_LOGARITHMS = {"log_softmax": "softmax", "logsigmoid": "sigmoid"}
# What leaves probabilities what they are: bounds, averages over members, parts and joins.
LEAVING = LAYOUT | {
    "clamp",
    "clip",
    "clamp_",
    "mean",
    "cat",
    "concat",
    "stack",
    "index_select",
    "masked_select",
}
# Layers that do the same.
IDLE_LAYERS = ("Identity", "Dropout", "Flatten", "Unflatten", "Rearrange")

# What libraries call the last part of their networks of classes.
LIBRARY_NETWORKS = ("torchvision.models.", "timm.create_model", "timm.models.")
HEADS = ("fc", "classifier", "head", "heads")

# Layers whose outputs may be any number.
AFFINE = frozenset({
    "Linear", "LazyLinear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d",
    "GCNConv", "GATConv", "GATv2Conv", "GraphConv", "ChebConv", "SGConv", "TAGConv",
})  # fmt: skip
# What adds up outputs of a layer with given weights, such as those of the edges of a graph.
ADDING_UP = frozenset({"@", "matmul", "mm", "spmm", "bmm"})

Ending = tuple[str | None, Site | None]
UNSEEN: Ending = (None, None)
NEITHER: Ending = ("", None)


def last_activation(run: Execution, value: Value) -> Ending:
    """The last activation that a value went through, "" where there is none, None where that is not seen.

    With it goes its place; without an activation, that of the layer where it is one that knows no bounds.
    """
    try:
        return _last(run, value, DEPTH)
    except (Exhausted, RecursionError):
        return UNSEEN


def _last(run: Execution, value: Value, depth: int) -> Ending:
    if depth == 0:
        return UNSEEN
    match value:
        case Delayed():
            return _last(run, run.expand(value), depth - 1)
        case Choice(options=options):
            return _agreed(_last(run, option, depth - 1) for option in options)
        case Items(items=items) if items:  # joined by what they are given to
            return _agreed(_last(run, item, depth - 1) for item in items)
        case Applied():
            return _of_call(run, value, depth)
        case Part():
            found = _component(run, value)
            return _last(run, found, depth - 1) if found is not None else UNSEEN
    return UNSEEN


def _component(run: Execution, part: Part) -> Value | None:
    """What a network, or a function, gives under a key, at a place or as an attribute."""
    made: Value | None = part.base
    while isinstance(made, Delayed | Part):
        made = run.expand(made) if isinstance(made, Delayed) else _component(run, made)
    return _under(run, made, part.key)


def _under(run: Execution, made: Value | None, key: str | int) -> Value | None:
    match made:
        case Items(items=items) if key == "*":
            return Choice(tuple(items)) if items else None
        case Items(items=items) if isinstance(key, int) and -len(items) <= key < len(items):
            return items[key]
        case Table(entries=entries):
            return entries.get(key)
        case Applied(keywords=given, callee=callee) if (
            key in given and callee.rpartition(".")[2][:1].isupper()
        ):
            return given[str(key)]  # `ModelOutput(logits=...)`
        case Instance() if isinstance(key, str):
            run.initialise(made)
            return made.attributes.get(key)
        case Instance(made_with=given) if isinstance(key, int):
            fields = [*given.values()] or [*made.attributes.values()]
            return fields[key] if -len(fields) <= key < len(fields) else None
        case Choice(options=options):
            found = [_under(run, option, key) for option in options]
            known = [one for one in found if one is not None]
            return Choice(tuple(known)) if len(known) == len(found) else None
    return None


def _of_call(run: Execution, value: Applied, depth: int) -> Ending:
    name = value.callee.removesuffix("()").rpartition(".")[2]
    if name in ACTIVATIONS:
        return ACTIVATIONS[name], value.site
    if value.callee.endswith("()"):
        return _of_layer(run, value, depth)
    if value.callee == "slice" or not value.args:
        return NEITHER
    if value.callee == "/":
        return _by_hand(value)
    if name == "exp":
        inner, _ = _last(run, value.args[0], depth - 1)
        return (OF_LOGARITHMS[inner], value.site) if inner in OF_LOGARITHMS else NEITHER
    if name in LEAVING or value.callee == "[]":
        return _last(run, value.args[0], depth - 1)
    if name in ADDING_UP:
        found = [_last(run, one, depth - 1) for one in value.args[:2]]
        return next((one for one in found if one[0] == "" and one[1] is not None), NEITHER)
    return NEITHER


def _by_hand(value: Applied) -> Ending:
    """`e / e.sum(-1)` of `e = x.exp()`, and `1 / (1 + exp(-x))`."""
    match value.args:
        case [Applied(callee=top) as above, Applied(callee=bottom, args=[summed, *_])] if (
            bottom.rpartition(".")[2] == "sum" and summed is above and top.rpartition(".")[2] == "exp"
        ):
            return "softmax", value.site
        case [Constant(value=1 | 1.0), Applied(callee="+", args=added)]:
            grown = [one for one in added if not isinstance(one, Constant)]
            if len(grown) == 1 and isinstance(grown[0], Applied) and _is_exp_of_negative(grown[0]):
                return "sigmoid", value.site
    return NEITHER


def _is_exp_of_negative(value: Applied) -> bool:
    is_exp = value.callee.rpartition(".")[2] == "exp" and bool(value.args)
    return is_exp and isinstance(value.args[0], Applied) and value.args[0].callee == "neg"


def _of_layer(run: Execution, call: Applied, depth: int) -> Ending:
    """What a layer, a chain of layers, or an unknown callable gives."""
    layer: Value | None = call.maker
    if call.callee == "()":
        layer = call.args[0]
        if not isinstance(layer, Instance):
            return UNSEEN
    layers = layers_of(run, layer) if layer is not None else None
    head = _own_head(run, layer) if layers is None else None
    if head is not None:
        return _given_by(run, head, call.site, depth)
    if layers is None:
        return _without(call.callee.removesuffix("()"), call.site) if call.callee != "()" else UNSEEN
    return _of_chain(run, layers, call.site, depth)


def _own_head(run: Execution, network: Value | None) -> Value | None:
    """The last part of a network of a library, where a program has put its own in its place."""
    if not isinstance(network, Applied) or not network.callee.startswith(LIBRARY_NETWORKS):
        return None
    kept = (run.stored_in(network, name) for name in HEADS)
    return next((run.force(one) for one in kept if one is not None), None)


def _of_chain(run: Execution, layers: Sequence[Value], site: Site, depth: int) -> Ending:
    for layer in map(run.force, reversed(layers)):
        if isinstance(layer, Applied):
            last = layer.callee.rpartition(".")[2]
            if last in ACTIVATIONS:
                return ACTIVATIONS[last], layer.site
            if last.startswith(IDLE_LAYERS):
                continue
        return _given_by(run, layer, site, depth)
    return UNSEEN


def _given_by(run: Execution, layer: Value, site: Site, depth: int) -> Ending:
    """What a layer makes of anything."""
    if isinstance(layer, Choice):
        return _agreed(_of_chain(run, [option], site, depth - 1) for option in layer.options)
    inner = layers_of(run, layer)
    if inner is not None:
        return _of_chain(run, inner, site, depth - 1) if depth > 1 else UNSEEN
    if isinstance(layer, Instance):
        return _last(run, calls.call_value(run, layer, (Leaf("x"),), {}, site), depth - 1)
    return (
        _without(layer.callee, layer.site) if isinstance(layer, Applied) and layer.callee != "()" else UNSEEN
    )


def _without(layer: str, site: Site) -> Ending:
    """No activation; a layer whose outputs may be any number is named by its place."""
    return ("", site) if layer.rpartition(".")[2] in AFFINE else NEITHER


def _agreed(found: Iterable[Ending]) -> Ending:
    """What all ways of computing a value agree on."""
    ends = list(found)
    return ends[0] if len({activation for activation, _ in ends}) == 1 else UNSEEN
