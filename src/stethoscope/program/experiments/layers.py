"""Layers of torch with weights drawn at random, computed on arrays.

What an experiment asks is which input reaches which output. Dropout is off, batch norm uses what it kept,
and recurrent layers are plain ones of the same wiring.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stethoscope.program.experiments import arithmetic, library_networks
from stethoscope.program.experiments.things import Array, Invented, Spot, Weight
from stethoscope.program.walk.bounded_arrays import CannotCompute, TooLarge
from stethoscope.program.walk.tensor_operations import compute

MOST_WEIGHTS = 6_000_000  # of one layer
_POOL = np.random.default_rng(0).standard_normal(1 << 20)


@dataclass(eq=False, slots=True)
class Layer:
    """A layer that was made: its kind, its arguments by name, and its weights."""

    kind: str
    given: dict[str, Any]
    made_at: Spot | None = None
    weights: dict[str, Any] = field(default_factory=dict)
    inner: list[Any] = field(default_factory=list)


@dataclass(frozen=True, eq=False, slots=True)
class Packed:
    """A packed sequence: what was packed, batch first, and the lengths."""

    rows: Array
    lengths: Array
    batch_first: bool


class Drawer:
    """Draws weights one after the other, the same ones each time."""

    def __init__(self, seed: int = 0) -> None:
        self.place = seed * 7919

    def draw(self, *shape: int, scale: float = 1.0) -> Weight:
        """A tensor of normal numbers."""
        count = math.prod(int(s) for s in shape)
        if count > MOST_WEIGHTS:
            raise TooLarge("the layer is too large")
        self.place = (self.place + 104729) % len(_POOL)
        numbers = _POOL[self.place : self.place + count]
        if numbers.size < count:
            numbers = np.resize(_POOL, count)
        return (numbers * scale).reshape([int(s) for s in shape]).view(Weight)


# The arguments of each layer in their order, with their defaults; `...` must be given.
_CONV = (
    "in_channels out_channels kernel_size stride=1 padding=0 dilation=1 groups=1 bias=True padding_mode=None"
)
_BACK = (
    "in_channels out_channels kernel_size stride=1 padding=0 output_padding=0 groups=1 bias=True dilation=1"
)
_RECURRENT = "input_size hidden_size num_layers=1 bias=True batch_first=False dropout=0 bidirectional=False"
_POOLING = "kernel_size stride=None padding=0"
_TRANSFORMER = (
    "d_model nhead dim_feedforward=2048 dropout=0.1 activation=None layer_norm_eps=1e-5 batch_first=False "
    "norm_first=False"
)
SIGNATURES: dict[str, str] = {
    "Linear": "in_features out_features bias=True",
    "Bilinear": "in1_features in2_features out_features bias=True",
    "LazyLinear": "out_features bias=True",
    **{f"Conv{n}d": _CONV for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": _BACK for n in (1, 2, 3)},
    "Embedding": "num_embeddings embedding_dim padding_idx=None",
    "LayerNorm": "normalized_shape eps=1e-5 elementwise_affine=True bias=True",
    "RMSNorm": "normalized_shape eps=None elementwise_affine=True",
    "GroupNorm": "num_groups num_channels eps=1e-5 affine=True",
    **{
        f"BatchNorm{n}d": "num_features eps=1e-5 momentum=0.1 affine=True track_running_stats=True"
        for n in (1, 2, 3)
    },
    **{f"InstanceNorm{n}d": "num_features eps=1e-5 momentum=0.1 affine=False" for n in (1, 2, 3)},
    "MultiheadAttention": "embed_dim num_heads dropout=0.0 bias=True add_bias_kv=False add_zero_attn=False "
    "kdim=None vdim=None batch_first=False",
    "TransformerEncoderLayer": _TRANSFORMER,
    "TransformerDecoderLayer": _TRANSFORMER,
    "TransformerEncoder": "encoder_layer num_layers norm=None enable_nested_tensor=True",
    "TransformerDecoder": "decoder_layer num_layers norm=None",
    "Transformer": "d_model=512 nhead=8 num_encoder_layers=6 num_decoder_layers=6 dim_feedforward=2048 "
    "dropout=0.1 activation=None custom_encoder=None custom_decoder=None layer_norm_eps=1e-5 "
    "batch_first=False norm_first=False",
    "LSTM": _RECURRENT,
    "GRU": _RECURRENT,
    "RNN": _RECURRENT.replace("bias", "nonlinearity='tanh' bias", 1),
    "LSTMCell": "input_size hidden_size bias=True",
    "GRUCell": "input_size hidden_size bias=True",
    **{f"{kind}Pool{n}d": _POOLING for kind in ("Avg", "Max") for n in (1, 2, 3)},
    **{f"Adaptive{kind}Pool{n}d": "output_size" for kind in ("Avg", "Max") for n in (1, 2, 3)},
    "Upsample": "size=None scale_factor=None mode='nearest'",
    "Flatten": "start_dim=1 end_dim=-1",
    "Unflatten": "dim unflattened_size",
    "PixelShuffle": "upscale_factor",
    "PixelUnshuffle": "downscale_factor",
    "Softmax": "dim=None",
    "LogSoftmax": "dim=None",
    "PReLU": "num_parameters=1 init=0.25",
    **{f"{kind}Pad{n}d": "padding" for kind in ("Zero", "Reflection", "Replication") for n in (1, 2)},
}
IDENTITIES = frozenset(
    {
        "Identity",
        "Dropout",
        "Dropout1d",
        "Dropout2d",
        "Dropout3d",
        "AlphaDropout",
        "DropPath",
        "StochasticDepth",
    }
)
ACTIVATIONS = {
    "ReLU": "relu", "LeakyReLU": "leaky_relu", "GELU": "gelu", "SiLU": "silu", "ELU": "elu", "Tanh": "tanh",
    "Sigmoid": "sigmoid", "Softplus": "softplus", "ReLU6": "relu6", "Hardswish": "hardswish", "Mish": "mish",
    "SELU": "selu", "CELU": "celu", "Softsign": "softsign", "GLU": "glu", "Hardtanh": "hardtanh",
}  # fmt: skip
KINDS = SIGNATURES.keys() | IDENTITIES | ACTIVATIONS.keys()


def made(kind: str, args: Sequence[Any], keywords: Mapping[str, Any], draw: Drawer, at: Spot | None) -> Layer:
    """A layer with its weights."""
    if kind in IDENTITIES or kind in ACTIVATIONS:
        placed = {str(place): arg for place, arg in enumerate(args)}
        return Layer(kind, placed | dict(keywords), at)
    given = _bound(SIGNATURES[kind], args, keywords)
    layer = Layer(kind, given, at)
    for switch in ("batch_first", "norm_first", "bidirectional"):
        if isinstance(given.get(switch), Invented):
            raise CannotCompute(f"{switch} is not known")
    fill(layer, draw)
    return layer


def _bound(signature: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    names = []
    for word in signature.split():
        name, _, default = word.partition("=")
        names.append(name)
        if default:
            given[name] = ast.literal_eval(default)
    given.update(zip(names, args, strict=False))
    given.update({k: v for k, v in keywords.items() if k not in {"device", "dtype"}})
    missing = [name for name in names if name not in given]
    if missing:
        raise CannotCompute(f"{missing[0]} is not given")
    return given


def fill(layer: Layer, draw: Drawer) -> None:
    """Draw the weights of a layer."""
    g, w = layer.given, layer.weights
    kind = layer.kind
    if kind == "Linear":
        rows = g["out_features"] if g["out_features"] <= MANY_ROWS else MOST_ROWS
        w["weight"] = draw.draw(rows, g["in_features"], scale=max(g["in_features"], 1) ** -0.5)
        w["bias"] = draw.draw(rows, scale=0.1) if g["bias"] else None
    elif kind.startswith("ConvTranspose"):
        size = arithmetic.per_axis(g["kernel_size"], int(kind[-2]))
        fan = (
            g["in_channels"]
            * math.prod(size)
            / max(math.prod(arithmetic.per_axis(g["stride"], len(size))), 1)
        )
        w["weight"] = draw.draw(g["in_channels"], g["out_channels"] // g["groups"], *size, scale=fan**-0.5)
        w["bias"] = draw.draw(g["out_channels"], scale=0.1) if g["bias"] else None
    elif kind.startswith("Conv"):
        size = arithmetic.per_axis(g["kernel_size"], int(kind[-2]))
        fan = g["in_channels"] // g["groups"] * math.prod(size)
        if fan == 0:
            raise CannotCompute("more groups than channels")
        w["weight"] = draw.draw(g["out_channels"], g["in_channels"] // g["groups"], *size, scale=fan**-0.5)
        w["bias"] = draw.draw(g["out_channels"], scale=0.1) if g["bias"] else None
    elif kind == "Embedding":
        w["weight"] = draw.draw(min(int(g["num_embeddings"]), MOST_ROWS), g["embedding_dim"])
        if isinstance(g["padding_idx"], int) and 0 <= g["padding_idx"] < len(w["weight"]):
            w["weight"][g["padding_idx"]] = 0.0
    elif kind in {"LayerNorm", "RMSNorm"} and g["elementwise_affine"]:
        shape = g["normalized_shape"]
        sizes = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
        w["weight"] = 1 + draw.draw(*sizes, scale=0.2)
        w["bias"] = draw.draw(*sizes, scale=0.1) if kind == "LayerNorm" and g["bias"] else None
    elif kind == "GroupNorm" or "Norm" in kind:
        count = g.get("num_channels", g.get("num_features"))
        if count is not None:
            w["weight"], w["bias"] = 1 + draw.draw(count, scale=0.2), draw.draw(count, scale=0.1)
    elif kind == "MultiheadAttention":
        dim = g["embed_dim"]
        for name, size in (("q", dim), ("k", g["kdim"] or dim), ("v", g["vdim"] or dim), ("o", dim)):
            w[name] = draw.draw(dim, size, scale=size**-0.5)
    elif kind in {"TransformerEncoderLayer", "TransformerDecoderLayer"}:
        _fill_transformer(layer, draw)
    elif kind in {"TransformerEncoder", "TransformerDecoder"}:
        _fill_stack(layer, draw)
    elif kind == library_networks.KIND:
        for name in ("tokens", "places"):
            w[name] = draw.draw(library_networks.ROWS, g["width"])
        w["pool"] = draw.draw(g["width"], g["width"], scale=g["width"] ** -0.5)
    elif kind == "Transformer":
        _fill_both_stacks(layer, draw)
    elif kind in {"LSTM", "GRU", "RNN"}:
        ways = 2 if g["bidirectional"] else 1
        for level in range(int(g["num_layers"])):
            size = g["input_size"] if level == 0 else ways * g["hidden_size"]
            for way in range(ways):
                w[f"in{level}{way}"] = draw.draw(g["hidden_size"], size, scale=size**-0.5)
                w[f"on{level}{way}"] = draw.draw(
                    g["hidden_size"], g["hidden_size"], scale=g["hidden_size"] ** -0.5
                )
    elif kind in {"LSTMCell", "GRUCell"}:
        w["in"] = draw.draw(g["hidden_size"], g["input_size"], scale=g["input_size"] ** -0.5)
        w["on"] = draw.draw(g["hidden_size"], g["hidden_size"], scale=g["hidden_size"] ** -0.5)
    elif kind in {"Bilinear", "LazyLinear"}:
        raise CannotCompute(kind)


MANY_ROWS = 4096  # a layer of more outputs says them by turns
MOST_ROWS = 512  # of an embedding; the experiments' tokens are small numbers


def _fill_transformer(layer: Layer, draw: Drawer) -> None:
    g = layer.given
    dim = g["d_model"]
    made_with = {"batch_first": g["batch_first"]}
    count = 2 if layer.kind == "TransformerDecoderLayer" else 1
    layer.inner = [made("MultiheadAttention", (dim, g["nhead"]), made_with, draw, None) for _ in range(count)]
    layer.inner += [
        made("Linear", (dim, 2 * dim), {}, draw, None),
        made("Linear", (2 * dim, dim), {}, draw, None),
    ]


def _fill_stack(layer: Layer, draw: Drawer) -> None:
    g = layer.given
    pattern = g.get("encoder_layer", g.get("decoder_layer"))
    if not isinstance(pattern, Layer):
        raise CannotCompute("layers of an unknown kind")
    layer.inner = [Layer(pattern.kind, pattern.given, pattern.made_at) for _ in range(int(g["num_layers"]))]
    for one in layer.inner:
        fill(one, draw)


def _fill_both_stacks(layer: Layer, draw: Drawer) -> None:
    g = layer.given
    if g["custom_encoder"] is not None or g["custom_decoder"] is not None:
        raise CannotCompute("stacks of the program's own")
    options = {"batch_first": g["batch_first"], "norm_first": g["norm_first"]}
    for way in ("encoder", "decoder"):
        pattern = made(f"Transformer{way.title()}Layer", (g["d_model"], g["nhead"]), options, draw, None)
        count = g[f"num_{way}_layers"]
        layer.inner.append(made(f"Transformer{way.title()}", (pattern, count), {}, draw, layer.made_at))
    g["encoder"], g["decoder"] = layer.inner


# Calls


def called(layer: Layer, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """What a layer gives."""
    kind, g, w = layer.kind, layer.given, layer.weights
    if kind in IDENTITIES:
        return args[0]
    if kind in _SPECIAL:
        return _SPECIAL[kind](layer, *args, **keywords)
    x = args[0] if args else keywords["input"]
    if not isinstance(x, np.ndarray):
        raise CannotCompute("no tensor")
    if kind in ACTIVATIONS:
        return _activated(ACTIVATIONS[kind], x)
    if kind == "Linear":
        y = x @ w["weight"].T
        y = y if w.get("bias") is None else y + w["bias"]
        rows = int(g["out_features"])
        return y if y.shape[-1] >= rows else y[..., np.arange(rows) % y.shape[-1]]
    if kind.startswith("ConvTranspose"):
        return arithmetic.convolved_back(
            x, w["weight"], w["bias"], g["stride"], g["padding"], g["output_padding"], int(g["groups"])
        )
    if kind.startswith("Conv"):
        return arithmetic.convolved(
            x, w["weight"], w["bias"], g["stride"], g["padding"], g["dilation"], int(g["groups"])
        )
    if "Norm" in kind:
        return _normed(layer, x)
    if kind == "Embedding":
        if x.dtype.kind == "f":
            raise CannotCompute("no indices")
        return np.asarray(w["weight"])[x.astype(np.int64) % w["weight"].shape[0]]
    if kind.startswith("Adaptive"):
        return arithmetic.adaptive(x, int(kind[-2]), g["output_size"], np.mean if "Avg" in kind else np.max)
    if "Pool" in kind:
        function = np.mean if "Avg" in kind else np.max
        return arithmetic.pooled(x, int(kind[-2]), g["kernel_size"], g["stride"], g["padding"], function)
    if kind in {"PixelShuffle", "PixelUnshuffle"}:
        shuffled = arithmetic.shuffled_up if kind == "PixelShuffle" else arithmetic.shuffled_down
        return shuffled(x, int(next(iter(g.values()))))
    if kind == "Upsample":
        return arithmetic.resized(x, g["size"], g["scale_factor"])
    if kind in {"Flatten", "Unflatten", "Softmax", "LogSoftmax"}:
        return _plain(layer, x)
    if kind == "PReLU":
        return np.where(x > 0, x, 0.25 * x)
    if "Pad" in kind:
        n = int(kind[-2])
        pad = g["padding"] if isinstance(g["padding"], list | tuple) else (g["padding"],) * (2 * n)
        mode = {"Z": "constant", "R": "reflect"}[kind[0]] if not kind.startswith("Repl") else "replicate"
        return arithmetic.padded(x, pad, mode)
    raise CannotCompute(kind)


def _plain(layer: Layer, x: Array) -> Array:
    g = layer.given
    if layer.kind == "Flatten":
        start, end = g["start_dim"] % x.ndim, g["end_dim"] % x.ndim
        return x.reshape(*x.shape[:start], -1, *x.shape[end + 1 :])
    if layer.kind == "Unflatten":
        axis = g["dim"] % x.ndim
        return x.reshape(*x.shape[:axis], *g["unflattened_size"], *x.shape[axis + 1 :])
    soft = arithmetic.softmax(x, g["dim"])
    return soft if layer.kind == "Softmax" else np.log(soft)


def _activated(name: str, x: Array) -> Array:
    function = arithmetic.FUNCTIONS.get(name)
    return np.asarray(function(x) if function is not None else compute(name, [x], {}))


def _normed(layer: Layer, x: Array) -> Array:
    g, w = layer.given, layer.weights
    if layer.kind == "LayerNorm":
        return arithmetic.layer_norm(x, g["normalized_shape"], w.get("weight"), w.get("bias"), g["eps"])
    if layer.kind == "RMSNorm":
        x = x / np.sqrt(np.mean(x**2, -1, keepdims=True) + (g["eps"] or 1e-6))
        return x * w["weight"] if "weight" in w else x
    if layer.kind == "GroupNorm":
        return arithmetic.group_norm(x, g["num_groups"], w["weight"], w["bias"])
    if x.ndim < 2 or x.shape[1] != int(g["num_features"]):
        raise CannotCompute("the channels do not fit")
    if layer.kind.startswith("Instance"):
        return arithmetic.standardised(x, range(2, x.ndim), 1e-5)
    along = (1, -1, *[1] * (x.ndim - 2))
    return np.asarray(x * w["weight"].reshape(along) + w["bias"].reshape(along))


def _attention(
    layer: Layer, query: Array, key: Array, value: Array, key_padding_mask: Any = None,
    need_weights: Any = True,
    attn_mask: Any = None, average_attn_weights: Any = True, is_causal: Any = False,
) -> tuple[Array, Any]:  # fmt: skip
    w, heads = layer.weights, int(layer.given["num_heads"])
    if query.ndim != 3:
        raise CannotCompute("no batch")
    if not layer.given["batch_first"]:
        query, key, value = (np.swapaxes(x, 0, 1) for x in (query, key, value))
    if key.shape[0] != query.shape[0] or key.shape[:2] != value.shape[:2]:
        raise CannotCompute("the batches do not fit")
    q, k, v = (_heads(x @ w[n].T, heads) for x, n in ((query, "q"), (key, "k"), (value, "v")))
    hidden = arithmetic.as_addend(attn_mask, true_hides=True)
    if hidden is not None and hidden.ndim == 3:
        hidden = hidden.reshape(-1, heads, *hidden.shape[1:])
    if key_padding_mask is not None:
        padding = arithmetic.as_addend(key_padding_mask, true_hides=True)
        if padding is None or padding.shape != key.shape[:2]:
            raise CannotCompute("the mask does not fit")
        hidden = padding[:, None, None] + (0 if hidden is None else hidden)
    y = arithmetic.attended(q, k, v, hidden)
    y = y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1) @ w["o"].T
    weights = np.full((query.shape[0], query.shape[1], key.shape[1]), 1 / key.shape[1])
    return (y if layer.given["batch_first"] else np.swapaxes(y, 0, 1)), (weights if need_weights else None)


def _heads(x: Array, heads: int) -> Array:
    b, t, d = x.shape
    return x.reshape(b, t, heads, d // heads).transpose(0, 2, 1, 3)


def _encoder_layer(
    layer: Layer, src: Array, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = False,
    **_: Any,
) -> Array:  # fmt: skip
    attention, up, down = layer.inner
    before, after = _norms(layer)
    y = before(src)
    x = after(src + called(attention, (y, y, y, src_key_padding_mask), {"attn_mask": src_mask})[0])
    return after(x + called(down, (np.maximum(called(up, (before(x),), {}), 0),), {}))


def _decoder_layer(
    layer: Layer, tgt: Array, memory: Array, tgt_mask: Any = None, memory_mask: Any = None,
    tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None, **_: Any,
) -> Array:  # fmt: skip
    own, cross, up, down = layer.inner
    before, after = _norms(layer)
    y = before(tgt)
    x = after(tgt + called(own, (y, y, y, tgt_key_padding_mask), {"attn_mask": tgt_mask})[0])
    given = (before(x), memory, memory, memory_key_padding_mask)
    x = after(x + called(cross, given, {"attn_mask": memory_mask})[0])
    return after(x + called(down, (np.maximum(called(up, (before(x),), {}), 0),), {}))


def _norms(layer: Layer) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """What normalises before each part of a layer and after it: one of the two does nothing."""
    return (_centred, np.asarray) if layer.given["norm_first"] else (np.asarray, _centred)


def _centred(x: Array) -> Array:
    return arithmetic.standardised(x, [-1], 1e-5)


def _encoder(
    layer: Layer, src: Array, mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = None
) -> Array:
    for one in layer.inner:
        src = _encoder_layer(one, src, mask, src_key_padding_mask)
    return _normed_at_end(layer, src)


def _decoder(layer: Layer, tgt: Array, memory: Array, *args: Any, **keywords: Any) -> Array:
    for one in layer.inner:
        tgt = _decoder_layer(one, tgt, memory, *args, **keywords)
    return _normed_at_end(layer, tgt)


def _normed_at_end(stack: Layer, x: Array) -> Array:
    norm = stack.given["norm"]
    return np.asarray(called(norm, (x,), {})) if isinstance(norm, Layer) else x


def _both_stacks(
    layer: Layer, src: Array, tgt: Array, src_mask: Any = None, tgt_mask: Any = None,
    memory_mask: Any = None, src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None,
    memory_key_padding_mask: Any = None, **_: Any,
) -> Array:  # fmt: skip
    encoder, decoder = layer.inner
    memory = _centred(_encoder(encoder, src, src_mask, src_key_padding_mask))
    padding = (tgt_key_padding_mask, memory_key_padding_mask)
    return _centred(_decoder(decoder, tgt, memory, tgt_mask, memory_mask, *padding))


def _recurrent(layer: Layer, x: Any, state: Any = None) -> tuple[Any, Any]:
    g, w = layer.given, layer.weights
    first = bool(g["batch_first"])
    packed = x if isinstance(x, Packed) else None
    rows = packed.rows if packed else x
    if rows.ndim != 3:
        raise CannotCompute("no batch")
    rows = rows if packed or first else np.swapaxes(rows, 0, 1)
    lengths = packed.lengths if packed else np.full(rows.shape[0], rows.shape[1])
    ends: list[Array] = []
    begin = state[0] if isinstance(state, list | tuple) else state
    ways = 2 if g["bidirectional"] else 1
    for level in range(int(g["num_layers"])):
        outs = []
        for way in range(ways):
            h = (
                np.zeros((rows.shape[0], int(g["hidden_size"])))
                if begin is None
                else begin[level * ways + way]
            )
            out, end = _swept(rows, lengths, w[f"in{level}{way}"], w[f"on{level}{way}"], h, bool(way))
            outs.append(out)
            ends.append(end)
        rows = np.concatenate(outs, -1)
    h = np.stack(ends)
    last: Any = (h, h * 0.5) if layer.kind == "LSTM" else h
    if packed:
        return Packed(rows, lengths, first), last
    return (rows if first else np.swapaxes(rows, 0, 1)), last


def _swept(rows: Array, lengths: Array, into: Array, on: Array, h: Array, back: bool) -> tuple[Array, Array]:
    out = np.zeros((*rows.shape[:2], on.shape[0]))
    for t in reversed(range(rows.shape[1])) if back else range(rows.shape[1]):
        alive = (t < lengths)[:, None]
        h = np.where(alive, np.tanh(rows[:, t] @ into.T + h @ on.T), h)
        out[:, t] = np.where(alive, h, 0)
    return out, h


def _library_encoder(layer: Layer, input_ids: Any = None, attention_mask: Any = None, **_: Any) -> Any:
    return library_networks.passed(layer.weights, input_ids, attention_mask)


def _cell(layer: Layer, x: Array, state: Any = None) -> Any:
    w = layer.weights
    h = state[0] if isinstance(state, list | tuple) else state
    h = np.tanh(x @ w["in"].T + (0 if h is None else h @ w["on"].T))
    return (h, 0.5 * h) if layer.kind == "LSTMCell" else h


_SPECIAL: dict[str, Callable[..., Any]] = {
    "MultiheadAttention": _attention,
    "TransformerEncoderLayer": _encoder_layer,
    "TransformerDecoderLayer": _decoder_layer,
    "TransformerEncoder": _encoder,
    "TransformerDecoder": _decoder,
    "Transformer": _both_stacks,
    "LSTM": _recurrent,
    "GRU": _recurrent,
    "RNN": _recurrent,
    "LSTMCell": _cell,
    "GRUCell": _cell,
    library_networks.KIND: _library_encoder,
}
