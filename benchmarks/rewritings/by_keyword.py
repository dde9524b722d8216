"""Arguments given by name where everybody gives them by place."""

from __future__ import annotations

import ast

PARAMETERS = {
    "cross_entropy": ("input", "target"),
    "mse_loss": ("input", "target"),
    "l1_loss": ("input", "target"),
    "smooth_l1_loss": ("input", "target"),
    "huber_loss": ("input", "target"),
    "nll_loss": ("input", "target"),
    "kl_div": ("input", "target"),
    "binary_cross_entropy": ("input", "target"),
    "binary_cross_entropy_with_logits": ("input", "target"),
    "clip_grad_norm_": ("parameters", "max_norm"),
    "clip_grad_value_": ("parameters", "clip_value"),
    "DataLoader": ("dataset", "batch_size", "shuffle"),
    "Adam": ("params", "lr"),
    "AdamW": ("params", "lr"),
    "SGD": ("params", "lr", "momentum"),
    "RMSprop": ("params", "lr"),
    "StepLR": ("optimizer", "step_size", "gamma"),
    "CosineAnnealingLR": ("optimizer", "T_max", "eta_min"),
    "LambdaLR": ("optimizer", "lr_lambda"),
    "ExponentialLR": ("optimizer", "gamma"),
    "ReduceLROnPlateau": ("optimizer", "mode"),
    "Dropout": ("p",),
    "interpolate": ("input", "size", "scale_factor", "mode"),
}


def rewrite(tree: ast.Module) -> ast.Module:
    """Name the arguments of the calls that everybody knows."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(isinstance(each, ast.Starred) for each in node.args):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        names = PARAMETERS.get(name, ())
        if node.args and len(node.args) <= len(names):
            given = [ast.keyword(key, value) for key, value in zip(names, node.args, strict=False)]
            node.args, node.keywords = [], [*given, *node.keywords]
    return tree
