"""Arguments of well-known calls: by place what is usually given by place, by name what is usually named.

`F.mse_loss(input=a, target=b)` becomes `F.mse_loss(a, b)`, `DataLoader(data, 32, True)` becomes
`DataLoader(data, batch_size=32, shuffle=True)`, and `f(**{"a": 1})` or `f(**dict(a=1))` becomes `f(a=1)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.spelling.nodes import below, full_name, outside_names

# fmt: off
_LOSSES = (
    "cross_entropy", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "nll_loss", "kl_div",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "poisson_nll_loss", "gaussian_nll_loss",
    "soft_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "multi_margin_loss",
)
_OF_A_TENSOR = (
    "interpolate", "softmax", "log_softmax", "sigmoid", "tanh", "relu", "gelu", "silu", "softplus",
    "normalize", "one_hot", "dropout", "exp", "log", "sqrt", "abs", "mean", "sum", "std", "var",
    "clamp", "argmax", "logsumexp",
)
_OPTIMIZERS = (
    "Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop",
    "ASGD", "SparseAdam", "LBFGS",
)
_SCHEDULES = (
    "StepLR", "MultiStepLR", "CosineAnnealingLR", "LambdaLR", "ExponentialLR", "ReduceLROnPlateau",
    "OneCycleLR", "LinearLR", "ConstantLR", "CyclicLR", "PolynomialLR", "MultiplicativeLR",
    "SequentialLR", "CosineAnnealingWarmRestarts",
)
# fmt: on
# By the last name of what torch offers: the parameters that stand first in a call, and those that are named.
_BY_PLACE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_LOSSES, ("input", "target")),
    "ctc_loss": ("log_probs", "targets", "input_lengths", "target_lengths"),
    "triplet_margin_loss": ("anchor", "positive", "negative"),
    "margin_ranking_loss": ("input1", "input2", "target"),
    "cosine_embedding_loss": ("input1", "input2", "target"),
    "cosine_similarity": ("x1", "x2"),
    "pairwise_distance": ("x1", "x2"),
    "cdist": ("x1", "x2"),
    "scaled_dot_product_attention": ("query", "key", "value"),
    "clip_grad_norm_": ("parameters", "max_norm"),
    "clip_grad_value_": ("parameters", "clip_value"),
    "Dropout": ("p",),
    "Linear": ("in_features", "out_features"),
    "Conv1d": ("in_channels", "out_channels", "kernel_size"),
    "Conv2d": ("in_channels", "out_channels", "kernel_size"),
    "Conv3d": ("in_channels", "out_channels", "kernel_size"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "Parameter": ("data",),
    **dict.fromkeys(_OF_A_TENSOR, ("input",)),
    "cat": ("tensors",),
    "stack": ("tensors",),
    **dict.fromkeys(_OPTIMIZERS, ("params",)),
    **dict.fromkeys(_SCHEDULES, ("optimizer",)),
    "DataLoader": ("dataset",),
    "Subset": ("dataset", "indices"),
    "random_split": ("dataset", "lengths"),
}
_LEARNING = ("params", "lr")
_BY_NAME: dict[str, tuple[str, ...]] = {
    "DataLoader": (
        "dataset",
        "batch_size",
        "shuffle",
        "sampler",
        "batch_sampler",
        "num_workers",
        "collate_fn",
    ),
    "Adam": (*_LEARNING, "betas", "eps", "weight_decay"),
    "AdamW": (*_LEARNING, "betas", "eps", "weight_decay"),
    "SGD": (*_LEARNING, "momentum", "dampening", "weight_decay", "nesterov"),
    "RMSprop": (*_LEARNING, "alpha", "eps", "weight_decay", "momentum"),
    "Adagrad": (*_LEARNING, "lr_decay", "weight_decay"),
}


def settle_arguments(tree: ast.Module) -> None:
    """Put the arguments of every well-known call where they usually stand."""
    names = outside_names(tree)
    for node in below(tree):
        if isinstance(node, ast.Call):
            if any(keyword.arg is None for keyword in node.keywords):
                node.keywords = list(_opened(node.keywords))
            name = full_name(node.func, names)
            if name.partition(".")[0] == "torch" and not any(
                isinstance(one, ast.Starred) for one in node.args
            ):
                _settle_call(node, name.rpartition(".")[2])


def _opened(keywords: list[ast.keyword]) -> Iterator[ast.keyword]:
    """The keywords, with those of a mapping that stands in the call."""
    for keyword in keywords:
        match keyword:
            case ast.keyword(arg=None, value=ast.Dict(keys=keys, values=values)) if all(map(_is_name, keys)):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant):
                        yield ast.copy_location(ast.keyword(str(key.value), value), value)
            case ast.keyword(arg=None, value=ast.Call(func=ast.Name(id="dict"), args=[], keywords=given)):
                yield from given
            case _:
                yield keyword


def _is_name(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isidentifier()


def _settle_call(call: ast.Call, name: str) -> None:
    by_place, by_name = _BY_PLACE.get(name, ()), _BY_NAME.get(name, ())
    for parameter in by_place[len(call.args) :]:
        given = next((keyword for keyword in call.keywords if keyword.arg == parameter), None)
        if given is None:
            break
        call.keywords.remove(given)
        call.args.append(given.value)
    if by_name and len(by_place) < len(call.args) <= len(by_name):
        named = zip(by_name[len(by_place) :], call.args[len(by_place) :], strict=False)
        call.keywords[:0] = [ast.copy_location(ast.keyword(key, value), value) for key, value in named]
        del call.args[len(by_place) :]
