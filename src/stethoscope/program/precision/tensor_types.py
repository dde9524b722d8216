"""What the operations and layers of torch give, by the type of what they get and the region they run in.

What each operation gives on CUDA was measured on a GPU with torch 2.11, inside and outside of autocast; the
lists of operations are those of torch's header.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stethoscope.program.precision.autocast import HALVES, DType, named_dtype
from stethoscope.program.precision.autocast_lists import LOWER, SINGLE
from stethoscope.program.walk.networks import OUTSIDE_NETWORKS
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    Instance,
    Items,
    LambdaValue,
    Outside,
    PartialValue,
    Table,
    Value,
)

MOST_LAYERS = 3  # counted since the last norm; more is the same

# fmt: off
# Calls that autocast does not list but that come down to one it lists.
ALSO_SINGLE = frozenset({
    "square", "normalize", "cross_entropy", "interpolate", "upsample", "trapz", "vector_norm",
    "matrix_norm", "gumbel_softmax", "__pow__", "softmin", "gaussian_nll_loss",
    "triplet_margin_with_distance_loss", "multilabel_soft_margin_loss", "ctc_loss", "log_softmax",
})
ALSO_LOWER = frozenset({
    "__matmul__", "multi_head_attention_forward", "dot_product_attention",
})
LOWER_LAYERS = (
    "Conv", "Linear", "Bilinear", "LSTM", "GRU", "RNN", "MultiheadAttention", "PReLU", "LazyConv",
    "LazyLinear",
)
SINGLE_LAYERS = frozenset({
    "LayerNorm", "GroupNorm", "Softmax", "LogSoftmax", "Softmax2d", "Softmin", "Softplus", "Upsample",
    "UpsamplingBilinear2d", "UpsamplingNearest2d", "TransformerEncoderLayer", "TransformerDecoderLayer",
    "TransformerEncoder", "TransformerDecoder", "Transformer", "CosineSimilarity", "PairwiseDistance",
})
NORMS = (
    "LayerNorm", "GroupNorm", "BatchNorm", "InstanceNorm", "RMSNorm", "SyncBatchNorm", "LocalResponseNorm",
)
NORM_CALLS = frozenset({
    "layer_norm", "group_norm", "batch_norm", "instance_norm", "rms_norm", "normalize",
    "local_response_norm",
})
BOUNDED = frozenset({
    "sigmoid", "tanh", "softmax", "log_softmax", "hardsigmoid", "hardtanh", "relu6", "clamp", "clip", "sin",
    "cos", "Sigmoid", "Tanh", "Softmax", "Hardsigmoid", "ReLU6", "Hardtanh", "erf", "sign", "nan_to_num",
    "atan", "rsqrt",
})
CREATING = frozenset({
    "zeros", "ones", "empty", "rand", "randn", "full", "eye", "linspace", "logspace", "normal",
    "hann_window", "hamming_window", "blackman_window", "from_numpy", "FloatTensor", "Tensor",
})
COUNTING = frozenset({
    "arange", "randint", "randperm", "LongTensor", "IntTensor", "argmax", "argmin", "argsort", "one_hot",
    "bincount", "numel", "size", "dim", "item", "nonzero", "isnan", "isinf", "isfinite", "eq", "ne", "gt",
    "lt", "ge", "le", "any", "all", "len", "int", "float", "bool", "range", "long", "tolist", "data_ptr",
    "get_device", "floor_divide",
})
# Their result has the widest type of all they get; that of others has the type of the first.
COMBINING = frozenset({
    "add", "sub", "subtract", "rsub", "mul", "multiply", "div", "divide", "true_divide", "where", "maximum",
    "minimum", "fmax", "fmin", "lerp", "addcmul", "addcdiv", "atan2", "fmod", "remainder", "hypot", "cross",
    "dot", "vdot", "inner", "outer", "kron", "cat", "concat", "concatenate", "stack", "hstack", "vstack",
    "dstack", "max", "min", "masked_scatter", "logaddexp", "float_power", "copysign", "scatter_add",
    "index_add", "baddbmm", "tensordot", "grid_sample",
})
SAME = frozenset({
    "rearrange", "repeat", "reduce", "pack", "unpack", "chunk", "split", "unbind", "view", "reshape",
    "permute", "transpose", "contiguous", "flatten", "unsqueeze", "squeeze", "expand", "clone", "detach",
    "mean", "var", "std", "abs", "sqrt", "neg", "relu", "gelu", "silu", "mish", "leaky_relu", "elu", "max",
    "min", "amax", "amin",
})
ADDING = frozenset({"sum", "cumsum", "prod", "cumprod"})
# fmt: on


@dataclass(frozen=True, slots=True)
class Mode:
    """How code runs: the half type that autocast gives (None where it is off), and the type of weights.

    `certain` is false where the region is half only under some of the settings it can have.
    """

    half: DType | None = None
    weights: DType = DType.FLOAT32
    certain: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """What is known of a value: its type, the learned layers since its last norm, its parts, its object."""

    dtype: DType = DType.UNKNOWN
    layers: int = 0
    items: tuple[Held, ...] | None = None
    value: Value | None = None
    entries: tuple[tuple[str, Held], ...] | None = None  # of a dictionary
    sure: bool = True  # whether the type was followed, not taken from what such things usually give


UNKNOWN = Held()
NUMBER = Held(DType.NUMBER)


def operation(name: str, full: str, args: Sequence[Held], keywords: Mapping[str, Held], mode: Mode) -> Held:
    """The result of an operation of torch, or of a method of a tensor (which comes first in `args`)."""
    operands = [part for arg in args for part in flat(arg)]
    dtype = keywords.get("dtype")
    asked = named_dtype(dtype.value) if dtype is not None else None
    if dtype is not None and asked is None and not _is_none(dtype):
        return UNKNOWN
    layers = max((held.layers for held in operands), default=0)
    if name in NORM_CALLS or name in BOUNDED:
        layers = 0
    if name in CREATING and full.startswith("torch"):
        return Held(asked or mode.weights)
    if name in COUNTING or (name == "tensor" and asked is None):
        return NUMBER
    if asked is not None:
        return Held(asked, layers)
    if name.endswith("_like") and args:
        return Held(args[0].dtype)
    in_place = name.endswith("_") and not name.endswith("__")
    if mode.half is not None and not in_place:
        if name in LOWER or name in ALSO_LOWER:
            return Held(mode.half, min(layers + 1, MOST_LAYERS))
        if name in ADDING and operands and all(part.dtype is DType.NUMBER for part in operands):
            return NUMBER  # of a mask or of counts: a count
        if name in SINGLE or name in ALSO_SINGLE:
            return Held(DType.FLOAT32, layers)
    if mode.half is None and name in LOWER and operands:
        return Held(operands[0].dtype, min(layers + 1, MOST_LAYERS))
    if in_place and operands:
        return Held(operands[0].dtype, layers)
    if not operands:
        return UNKNOWN
    if full.startswith(("math.", "numpy.", "np.")):
        return NUMBER
    if full.startswith(("torch", "einops", ".")) or name in SAME:
        return _kept(name, full, args, layers)
    return UNKNOWN


def _kept(name: str, full: str, args: Sequence[Held], layers: int) -> Held:
    """The result of an operation that keeps the type of what it works on: all of it, or the first alone."""
    together = args if name in COMBINING else args[:1]
    if name == "where" and full.startswith("torch"):
        together = args[1:]
    parts = [part for arg in together for part in flat(arg)]
    if name in {"mul", "multiply"} and all(part.dtype is not DType.NUMBER for part in parts):
        layers = min(sum(part.layers for part in parts), MOST_LAYERS)
    return Held(promoted(part.dtype for part in parts), layers, sure=all(part.sure for part in parts))


def layer(made: Applied, args: Sequence[Held], keywords: Mapping[str, Held], mode: Mode) -> Held:
    """The result of a layer of torch, by the call that made it."""
    last = made.callee.rpartition(".")[2]
    first = args[0] if args else UNKNOWN
    if is_outside_network(made):
        return network_output(args, mode)
    if not (made.callee.startswith("torch") or ".nn." in made.callee):
        return UNKNOWN
    if last.startswith(NORMS) or last in BOUNDED:
        first = replace(first, layers=0)
    if last.startswith("Embedding"):
        return Held(mode.weights)
    if last.startswith(LOWER_LAYERS):
        dtype = mode.half or (mode.weights if mode.weights in HALVES else first.dtype)
        held = Held(dtype, min(first.layers + 1, MOST_LAYERS))
        return replace(held, items=(held, held)) if last.startswith(("LSTM", "GRU", "RNN", "Multi")) else held
    if mode.half is not None and (last in SINGLE_LAYERS or last.endswith("Loss")):
        return Held(DType.FLOAT32, 0 if last.startswith("Transformer") else first.layers)
    if last == "RMSNorm":
        return Held(DType.UNKNOWN, 0)  # half or float32, by the release of torch
    return Held(first.dtype if last[:1].isupper() else DType.UNKNOWN, first.layers)


def is_layer(value: Value | None) -> bool:
    """Whether a value is a layer of torch as it was made: `nn.Linear(4, 4)`."""
    name = value.callee if isinstance(value, Applied) else ""
    return name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper()


def is_outside_network(made: Applied) -> bool:
    """Whether a call outside makes a whole network, as timm's and transformers' factories do."""
    return OUTSIDE_NETWORKS.match(made.callee) is not None or made.callee.endswith(".from_pretrained")


def network_output(args: Sequence[Held], mode: Mode) -> Held:
    """What a network that could not be looked into gives: nearly all end with a learned layer."""
    dtype = mode.half or (mode.weights if mode.weights in HALVES else DType.UNKNOWN)
    layers = max((held.layers for held in args), default=0)
    return Held(dtype, min(layers + 1, MOST_LAYERS), sure=False) if dtype in HALVES else UNKNOWN


KEPT = "kept"
CASTS = {
    "float": DType.FLOAT32,
    "double": DType.FLOAT32,
    "half": DType.FLOAT16,
    "bfloat16": DType.BFLOAT16,
}


def promoted(dtypes: Iterable[DType]) -> DType:
    """The type of arithmetic between these types."""
    given = set(dtypes) - {DType.NUMBER}
    if not given:
        return DType.NUMBER
    if DType.FLOAT32 in given or len(given & HALVES) > 1:
        return DType.FLOAT32
    return DType.UNKNOWN if DType.UNKNOWN in given else given.pop()


def joined(options: Sequence[Held]) -> Held:
    """What holds of one of several values, whichever it is."""
    if not options:
        return UNKNOWN
    first = options[0]
    if len(options) == 1:
        return first
    dtypes = {held.dtype for held in options}
    dtype = dtypes.pop() if len(dtypes) == 1 else DType.UNKNOWN
    items = None
    if first.items is not None and all(
        h.items is not None and len(h.items) == len(first.items) for h in options
    ):
        columns = zip(*(held.items or () for held in options), strict=True)
        items = tuple(joined(column) for column in columns)
    values = [held.value for held in options if held.value is not None]
    same = len(values) == len(options) and all(value is values[0] for value in values)
    distinct = Choice(tuple(values)) if values and all(is_callable(value) for value in values) else None
    sure = all(held.sure for held in options)
    entries = first.entries if all(held.entries is not None for held in options) else None
    return Held(dtype, most_layers(options), items, values[0] if same else distinct, entries, sure)


def most_layers(held: Iterable[Held]) -> int:
    return max((one.layers for one in held), default=0)


def part_at(held: Held, position: int) -> Held:
    if held.items is not None and -len(held.items) <= position < len(held.items):
        return held.items[position]
    return Held(held.dtype, held.layers, sure=held.sure)


def flat(held: Held) -> Iterator[Held]:
    if held.items is not None:
        for item in held.items:
            yield from flat(item)
    else:
        yield held


def modules_in(value: Value) -> list[Value]:
    if isinstance(value, Items):
        return value.items
    if isinstance(value, Table):
        return list(value.entries.values())
    return [value]


def table_of(value: Value) -> Table | None:
    """A dictionary, or the one that a ModuleDict was made of."""
    match value:
        case Table():
            return value
        case Applied(callee=callee, args=[Table() as table, *_]) if callee.endswith(
            (".ModuleDict", ".ParameterDict")
        ):
            return table
    return None


def lowers(callee: Value | None) -> bool:
    """Whether autocast casts what a layer or function gets to half at once."""
    match callee:
        case Outside(name=name):
            return name.startswith("torch") and name.rpartition(".")[2] in LOWER
        case Applied(callee=name, args=args) if name.endswith(".Sequential"):
            inside = [item for arg in args for item in modules_in(arg)]
            return bool(inside) and lowers(inside[0])
        case Applied(callee=".float" | ".to" | ".cuda" | ".double" | ".requires_grad_", args=[inner, *_]):
            return lowers(inner)
        case Applied(callee=name):
            return name.startswith("torch.nn.") and name.rpartition(".")[2].startswith(LOWER_LAYERS)
        case Items(items=items):
            return bool(items) and lowers(items[0])
        case Choice(options=options):
            return all(map(lowers, options))
    return False


def _is_none(held: Held) -> bool:
    return isinstance(held.value, Constant) and held.value.value is None


def cast_type(
    name: str, node: ast.Call, args: Sequence[Held], keywords: Mapping[str, Held]
) -> DType | str | None:
    """The type that a cast gives; KEPT where it moves without casting; None where it is no cast."""
    if name in CASTS:
        return CASTS[name]
    if name == "type_as" and args:
        return args[0].dtype
    if name in {"cuda", "cpu", "contiguous", "clone", "detach"}:
        return KEPT
    if name not in {"to", "type"}:
        return None
    given = [*args, *(held for key, held in keywords.items() if key in {"dtype", "other"})]
    for held in given:
        dtype = named_dtype(held.value)
        if dtype is not None:
            return dtype
    if any("dtype" in ast.dump(arg) for arg in (*node.args, *(word.value for word in node.keywords))):
        return DType.UNKNOWN
    tensors = [held for held in given if held.dtype in HALVES | {DType.FLOAT32}]
    if tensors:
        return tensors[0].dtype
    if "dtype" in keywords or name == "type":
        return DType.UNKNOWN
    return KEPT


def is_callable(value: Value | None) -> bool:
    kinds = FunctionValue | Instance | Applied | PartialValue | Items | ClassValue | LambdaValue
    if isinstance(value, Choice):
        return all(is_callable(option) for option in value.options)
    return isinstance(value, kinds)
