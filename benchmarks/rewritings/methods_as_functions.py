"""What is a method of a tensor and a function of torch, written as the function."""

from __future__ import annotations

import ast

BOTH = frozenset(
    [
        "softmax",
        "log_softmax",
        "abs",
        "exp",
        "log",
        "sqrt",
        "square",
        "clamp",
        "argmax",
        "matmul",
        "sigmoid",
        "tanh",
        "cumsum",
        "logsumexp",
        "relu",
        "unsqueeze",
        "flatten",
        "transpose",
        "roll",
        "flip",
        "bmm",
        "mul",
        "div",
        "neg",
    ]
)


class _Rewriter(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(value=value, attr=name) if name in BOTH and not _is_module(value):
                function = ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load())
                return ast.Call(function, [value, *node.args], node.keywords)
        return node


def _is_module(value: ast.expr) -> bool:
    names = {"torch", "F", "nn", "np", "math", "th", "self", "fft", "linalg", "functional", "special", "tf"}
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in names
        case ast.Call(func=ast.Name(id="super")):
            return True
        case _:
            return False


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `torch.softmax(x, -1)` for `x.softmax(-1)`."""
    if not any(
        isinstance(node, ast.Import) and any(a.name == "torch" and not a.asname for a in node.names)
        for node in ast.walk(tree)
    ):
        return tree
    return _Rewriter().visit(tree)
