"""Which names stand for plain numbers, by how they are declared or by what people call them.

A number takes the type of the tensor it is combined with: half divided by a temperature stays half.
"""

from __future__ import annotations

import ast

from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.settings.settings_tree import HOLDERS

NUMBER_TYPES = frozenset({"float", "int", "bool"})
# fmt: off
NUMBER_WORDS = frozenset({
    "temperature", "temp", "tau", "eps", "epsilon", "margin", "alpha", "lam", "lambda", "coef", "coeff",
    "factor", "ratio", "power", "dim", "heads", "size", "num", "dropout", "rate",
})
# What a network keeps under such names is a tensor, if it is not seen what it is.
TENSOR_WORDS = frozenset({
    "weight", "weights", "bias", "mean", "std", "mu", "sigma", "basis", "matrix", "kernel", "kernels",
    "filter", "filters", "window", "table", "bank", "prototypes", "proxies", "centers", "centres",
    "centroids", "anchors", "queue", "codebook", "embed", "embedding", "embeddings", "pos", "freqs",
    "target", "targets", "buffer", "tensor", "mask", "gamma", "beta", "logits", "teacher",
    "noise", "prior", "priors",
})
# fmt: on


def is_number(arg: ast.arg) -> bool:
    """Whether a parameter is a number: by its annotation, or where it has none by its name."""
    if arg.annotation is None:
        return names_number(arg.arg)
    options = _options(arg.annotation)
    return bool(options) and all(option in NUMBER_TYPES or option == "None" for option in options)


def names_number(name: str) -> bool:
    """Whether people give this name to a number."""
    return bool(NUMBER_WORDS.intersection(words(name)))


def names_tensor(name: str) -> bool:
    """Whether people give this name to a tensor that a network keeps."""
    return bool(TENSOR_WORDS.intersection(words(name)))


def is_setting(node: ast.Attribute) -> bool:
    """Whether an attribute is a setting: `args.temperature`, `self.cfg.loss.weight`. None is a tensor."""
    holder = dotted(node.value) or ""
    return any(part.lower() in HOLDERS for part in holder.split("."))


def _options(annotation: ast.expr) -> list[str]:
    """The types of `float`, `float | None`, `"float"`."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*_options(left), *_options(right)]
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return _options(inner)
        case ast.Constant(value=value):
            return [str(value)]
    return [dotted(annotation) or "?"]
