"""Calls of Python's own functions and of libraries: what makes layers, and what only wraps."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stethoscope.program.experiments import arithmetic, first_weights, layers, library_networks
from stethoscope.program.experiments.attributes import attribute
from stethoscope.program.experiments.einops import einops_call
from stethoscope.program.experiments.layers import Layer, Packed
from stethoscope.program.experiments.running import LONGEST, Unlisted
from stethoscope.program.experiments.tensor_calls import computed
from stethoscope.program.experiments.things import Finfo, Foreign, Invented, Object, Partial, Spot, Weight
from stethoscope.program.index import Class
from stethoscope.program.walk.bounded_arrays import CannotCompute

if TYPE_CHECKING:
    from stethoscope.program.experiments.interpreter import Interpreter

PLAIN: dict[str, Callable[..., Any]] = {
    "len": len, "range": range, "zip": zip, "enumerate": enumerate, "reversed": reversed, "min": min,
    "max": max,
    "sum": sum, "abs": abs, "int": int, "float": float, "bool": bool, "str": str, "list": list,
    "tuple": tuple,
    "dict": dict, "set": set, "sorted": sorted, "any": any, "all": all, "round": round, "divmod": divmod,
}  # fmt: skip
LARGE = 4.0  # of the deviation of weights
_HOLDERS = frozenset({"Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"})
_ALIKE = frozenset(
    {"copy.deepcopy", "torch.compile", "torch.jit.script", "torch.autograd.Variable", "typing.cast"}
)
# fmt: off
_FIRST_OF_WRAPPER = (
    "spectral_norm", "weight_norm", "orthogonal", "DataParallel", "DistributedDataParallel",
    "convert_sync_batchnorm",
)
# fmt: on


def call_library(
    run: Interpreter, name: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None
) -> Any:
    """A call of something that is not the program's own."""
    last = name.rpartition(".")[2]
    if name in PLAIN:
        return _plain(run, name, args, keywords)
    if run.as_written and (".init." in name or last == "trunc_normal_"):
        return first_weights.filled(run, last, args, keywords)
    if run.as_written and name == "type" and isinstance(args[0], Layer):
        return Foreign(args[0].kind)
    if (
        name in {"print", "warnings.warn"}
        or ".init." in name
        or last in {"trunc_normal_", "checkpoint_sequential"}
    ):
        return args[0] if args else None
    if name == "isinstance" and len(args) == 2:
        return _is_instance(run, args[0], args[1])
    if name in {"hasattr", "getattr"} and isinstance(args[1], str):
        return _getattr(run, name, args)
    if library_networks.ENCODERS.match(name) and not run.as_written:
        return _library_encoder(run, args)
    if name.startswith(
        ("torch.", "numpy.", "math.", "einops.", "functools.", "itertools.", "copy.", "typing.")
    ):
        pass
    elif last in _FIRST_OF_WRAPPER or last in layers.IDENTITIES or name == "timm.models.layers.trunc_normal_":
        return layers.made("Identity", (), {}, run.drawer, None) if last in layers.IDENTITIES else args[0]
    elif name not in {"map", "filter"}:
        raise Unlisted(name)
    if (name.startswith(("torch.nn.", "torch.")) and last in _FIRST_OF_WRAPPER) or name in _ALIKE:
        return args[-1] if name == "typing.cast" else _alike(run, name, args[0])
    if name.startswith("torch.nn.") and name.count(".") <= 4 and (last in layers.KINDS or last in _HOLDERS):
        return _made_layer(run, last, args, keywords, spot)
    if last in {"Parameter", "UninitializedParameter"}:
        return _parameter(run, args, keywords)
    if name.startswith("functools.partial"):
        return Partial(args[0], tuple(args[1:]), keywords)
    if name.endswith("checkpoint.checkpoint"):
        return run.call(args[0], args[1:], {}, spot)
    if name.startswith("einops."):
        return einops_call(run, last, args, keywords, spot)
    if name == "map":
        return [run.call(args[0], row, {}, spot) for row in zip(*args[1:], strict=False)]
    if name.startswith("math."):
        return _mathematical(run, last, args)
    if last in {"pack_padded_sequence", "pad_packed_sequence"}:
        return _packing(run, last, args, keywords)
    if last in {
        "no_grad",
        "enable_grad",
        "autocast",
        "manual_seed",
        "set_grad_enabled",
        "inference_mode",
    }:
        return None
    if name.endswith("_assert") or last in {"is_grad_enabled", "is_autocast_enabled", "is_available"}:
        return False
    if last in {"finfo", "iinfo"}:
        return Finfo()
    if last in {"generate_square_subsequent_mask"}:
        return arithmetic.future(int(args[-1]))
    return computed(run, name, last, args, keywords, spot)


def _alike(run: Interpreter, name: str, value: Any) -> Any:
    """A deep copy has the same weights to begin with, and is another thing."""
    if name != "copy.deepcopy":
        return value
    return _copied(run, value, 0)


def _copied(run: Interpreter, value: Any, depth: int) -> Any:
    if depth > 12:
        raise CannotCompute("nested too deep")
    match value:
        case Layer():
            fresh = Layer(value.kind, dict(value.given), value.made_at)
            layers.fill(fresh, run.drawer)
            if run.as_written:
                first_weights.copied(value, fresh)
            run.layers.append(fresh)
            return fresh
        case Object():
            return Object(value.cls, {k: _copied(run, v, depth + 1) for k, v in value.attributes.items()})
        case list():
            return [_copied(run, v, depth + 1) for v in value]
        case dict():
            return {k: _copied(run, v, depth + 1) for k, v in value.items()}
    return value


def _made_layer(
    run: Interpreter, kind: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None
) -> Any:
    if kind == "Sequential":
        return list(args[0].values()) if args and isinstance(args[0], dict) else list(args)
    if kind == "ModuleDict":
        return dict(args[0]) if args else {}
    if kind in _HOLDERS:
        return list(args[0]) if args else []
    layer = layers.made(kind, args, keywords, run.drawer, spot)
    groups = layer.given.get("num_groups")
    if run.smaller > 1 and groups is not None and groups == layer.given["num_channels"]:
        layer.given["num_groups"] = max(groups // run.smaller, 1)  # the channels alone were made fewer
    if run.as_written:
        first_weights.as_made(layer, run.chance)
    run.spend(sum(w.size for w in layer.weights.values() if isinstance(w, np.ndarray)))
    run.layers.append(layer)
    return layer


def _library_encoder(run: Interpreter, args: list[Any]) -> Layer:
    layer = Layer(library_networks.KIND, {"width": library_networks.width(args)})
    layer.given["config"] = library_networks.config(layer.given["width"])
    layers.fill(layer, run.drawer)
    run.layers.append(layer)
    return layer


def _parameter(run: Interpreter, args: list[Any], keywords: dict[str, Any]) -> Any:
    given = args[0] if args else keywords.get("data")
    if not isinstance(given, np.ndarray):
        raise CannotCompute("a parameter of an unknown shape")
    if run.as_written:
        return np.array(given).view(Weight)
    if np.iscomplexobj(given):
        return run.drawer.draw(*given.shape).astype(np.complex128) * 0.3
    # One number, or one for each channel, is around one; a table of vectors is drawn like an embedding.
    drawn = run.drawer.draw(*given.shape, scale=0.3)
    if given.size == max(given.shape, default=1):
        return drawn + 1
    # Weights that are drawn large are made smaller where they are used, as at an equalised rate.
    return drawn * (spread if (spread := float(np.std(given))) > LARGE else 2.0)


def _plain(run: Interpreter, name: str, args: list[Any], keywords: dict[str, Any]) -> Any:
    if name == "len" and isinstance(args[0], np.ndarray):
        return args[0].shape[0]
    if name == "range":
        made = range(*map(operator.index, args))
        if len(made) > LONGEST:
            raise CannotCompute("a long count")
        return made
    if name in {"bool"}:
        return run.truth(args[0])
    result = PLAIN[name](*args, **keywords)
    return list(result) if name in {"zip", "enumerate", "reversed"} else result


def _getattr(run: Interpreter, name: str, args: list[Any]) -> Any:
    if run.as_written and name == "hasattr" and isinstance(args[0], Layer):
        return args[1] in args[0].given or args[1] in args[0].weights
    try:
        found = attribute(run, args[0], args[1])
    except CannotCompute:
        if name == "hasattr" and isinstance(args[0], Object):
            return False
        if name == "getattr" and len(args) == 3 and isinstance(args[0], Object):
            return args[2]
        raise
    return True if name == "hasattr" else found


def _mathematical(run: Interpreter, name: str, args: list[Any]) -> Any:
    function = getattr(math, name, None)
    if function is None or not all(isinstance(a, int | float | np.ndarray) for a in args):
        raise CannotCompute(name)
    if name in {"factorial", "perm", "comb"}:
        raise CannotCompute(name)
    return function(*(a.item() if isinstance(a, np.ndarray) else a for a in args))


def _packing(run: Interpreter, name: str, args: list[Any], keywords: dict[str, Any]) -> Any:
    first = bool(keywords.get("batch_first", args[2] if len(args) > 2 and "pack_" in name else False))
    if name == "pack_padded_sequence":
        rows, lengths = args[0], np.asarray(args[1] if len(args) > 1 else keywords["lengths"])
        return Packed(rows if first else np.swapaxes(rows, 0, 1), lengths, first)
    first = bool(keywords.get("batch_first", args[1] if len(args) > 1 else False))
    packed = args[0]
    if not isinstance(packed, Packed):
        raise CannotCompute("nothing packed")
    return (packed.rows if first else np.swapaxes(packed.rows, 0, 1)), packed.lengths


def _is_instance(run: Interpreter, value: Any, kinds: Any) -> bool:
    names = [k.name.rpartition(".")[2] for k in _many(kinds) if isinstance(k, Foreign)]
    if isinstance(value, Invented):
        raise CannotCompute("an invented size is asked for its kind")
    if isinstance(value, Object):
        own = [c for c in _many(kinds) if isinstance(c, Class)]
        return any(c in run.index.lineage(value.cls) for c in own) or "Module" in names
    if isinstance(value, Layer):
        return value.kind in names or "Module" in names or (value.kind[:4] == "Conv" and "_ConvNd" in names)
    if isinstance(value, np.ndarray):
        return "Tensor" in names
    if value is None or isinstance(value, str | int | float | list | tuple | dict):
        own_names = {kind.__name__ for kind in type(value).__mro__}
        return bool(own_names & set(names)) or (isinstance(value, list | tuple) and "Sequence" in names)
    raise CannotCompute("isinstance of something unknown")


def _many(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
