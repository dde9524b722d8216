"""Arguments given by place where many give them by name."""

from __future__ import annotations

import ast

PARAMETERS = {
    "DataLoader": ("dataset", "batch_size", "shuffle"),
    "Adam": ("params", "lr", "betas", "eps", "weight_decay"),
    "AdamW": ("params", "lr", "betas", "eps", "weight_decay"),
    "SGD": ("params", "lr", "momentum"),
    "StepLR": ("optimizer", "step_size", "gamma"),
    "CosineAnnealingLR": ("optimizer", "T_max", "eta_min"),
    "LambdaLR": ("optimizer", "lr_lambda"),
    "clip_grad_norm_": ("parameters", "max_norm"),
    "cross_entropy": ("input", "target", "weight"),
    "softmax": ("input", "dim"),
    "cat": ("tensors", "dim"),
    "stack": ("tensors", "dim"),
    "randint": ("low", "high", "size"),
}


def rewrite(tree: ast.Module) -> ast.Module:
    """Leave out the names of the arguments that stand in the order of the parameters."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(isinstance(each, ast.Starred) for each in node.args):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) not in OF_TORCH:
            continue  # a method has its tensor in front
        for parameter in PARAMETERS.get(name, ())[len(node.args) :]:
            given = next((keyword for keyword in node.keywords if keyword.arg == parameter), None)
            if given is None:
                break
            node.keywords.remove(given)
            node.args.append(given.value)
    return tree


OF_TORCH = frozenset(
    {"torch", "nn", "F", "optim", "torch.optim", "lr_scheduler", "torch.optim.lr_scheduler", "nn.utils"}
    | {"torch.nn.utils", "torch.nn.functional", "nn.functional", "torch.utils.data", "data"}
)
