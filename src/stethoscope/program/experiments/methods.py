"""Methods of networks, layers and containers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stethoscope.program.experiments import first_weights, layers
from stethoscope.program.experiments.layers import Layer
from stethoscope.program.experiments.tensor_calls import tensor_method
from stethoscope.program.experiments.things import IDLE, Ancestors, Held, Object, Spot
from stethoscope.program.walk.bounded_arrays import CannotCompute

if TYPE_CHECKING:
    from stethoscope.program.experiments.interpreter import Interpreter

_CONTAINER_METHODS = {
    list: {"append", "extend", "pop", "insert", "index", "count", "copy", "reverse"},
    dict: {"items", "keys", "values", "get", "pop", "update", "setdefault", "copy"},
    tuple: {"index", "count"},
    str: {"lower", "upper", "split", "startswith", "endswith", "strip", "replace", "join", "format", "find"},
    set: {"add", "union"},
    int: {"bit_length"},
    float: {"is_integer"},
}
_EMPTY = frozenset({"parameters", "named_parameters", "modules", "named_modules", "buffers", "named_buffers"})


def call_method(
    run: Interpreter,
    of: Any,
    name: str,
    args: list[Any],
    keywords: dict[str, Any],
    spot: Spot | None,
) -> Any:
    """`of.name(...)`."""
    if isinstance(of, np.ndarray):
        return tensor_method(run, of, name, args, keywords, spot)
    if run.as_written and isinstance(of, Layer | Object | list | dict) and name in _WALKING:
        return _walked(run, of, name, args)
    if isinstance(of, Layer | Object | list | dict) and (name in IDLE or name in _EMPTY):
        return [] if name in _EMPTY else of
    if isinstance(of, Object) and name == "<chain>":
        of.attributes["_modules"] = (
            list(args[0].values()) if args and isinstance(args[0], dict) else list(args)
        )
        return None
    if isinstance(of, Object):
        return _module_method(run, of, name, args, keywords)
    if isinstance(of, list) and name in {"add_module", "register_module"}:
        of.append(args[-1])
        return None
    for kind, names in _CONTAINER_METHODS.items():
        if isinstance(of, kind) and name in names:
            result = getattr(of, name)(*args, **keywords)
            return list(result) if name in {"items", "keys", "values"} else result
    if isinstance(of, Layer) and name == "forward":
        return run.call(of, args, keywords, spot)
    if isinstance(of, Ancestors):
        return _of_base(run, of, name, args, keywords, spot)
    if isinstance(of, Held):
        return run.call(of.attribute(name), args, keywords, spot)
    raise CannotCompute(name)


def _of_base(
    run: Interpreter, of: Ancestors, name: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None
) -> Any:
    """What a class takes over from a layer of the library: its weights, and what it computes with them."""
    bases = [base.rpartition(".")[2] for base in run.index.outside_bases(of.of.cls) if ".nn." in base]
    kind = next((base for base in bases if base in layers.KINDS), None)
    if kind is None:
        return None  # the __init__ of a module, and the like
    if name == "__init__":
        made = layers.made(kind, args, keywords, run.drawer, spot)
        of.of.attributes.update({**made.given, "bias": None, **made.weights, "_layer": made})
    elif name == "forward" and "_layer" in of.of.attributes:
        return run.call(of.of.attributes["_layer"], args, keywords, spot)
    return None


_WALKING = frozenset(
    {"apply", "parameters", "named_parameters", "modules", "named_modules", "children", "named_children"}
)


def _walked(run: Interpreter, of: Any, name: str, args: list[Any]) -> Any:
    """What goes through the parts of a network or through its weights."""
    if name == "apply":
        return first_weights.applied(run, of, args[0])
    if name.endswith("parameters"):
        found = first_weights.parameters(of)
    elif name.endswith("children"):
        found = [(str(place), child) for place, child in enumerate(first_weights.children_of(of))]
    else:
        found = list(first_weights.parts(of))
    return found if name.startswith("named") else [value for _, value in found]


def _module_method(run: Interpreter, of: Object, name: str, args: list[Any], keywords: dict[str, Any]) -> Any:
    if name in {"register_buffer", "register_parameter", "add_module", "register_module"}:
        named = args + list(keywords.values())
        of.attributes[named[0]] = named[1]
        if isinstance(of.attributes.get("_modules"), list) and name.endswith("module"):
            of.attributes["_modules"].append(named[1])
        elif name.endswith("module") and run.is_chain(of):
            of.attributes["_modules"] = [named[1]]
        return None
    if name in {"save_hyperparameters", "register_load_state_dict_pre_hook"}:
        return None
    if name in {"children"}:
        return [v for v in of.attributes.values() if isinstance(v, Layer | Object)]
    raise CannotCompute(name)
