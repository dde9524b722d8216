"""What is a function of torch and a method of a tensor, written as the method."""

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
        "mean",
        "sum",
        "cumsum",
        "logsumexp",
        "relu",
        "unsqueeze",
        "flatten",
        "transpose",
        "roll",
        "flip",
        "bmm",
    ]
)


class _Rewriter(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="torch" | "F"), attr=name), args=[first, *rest]
            ) if name in BOTH and not isinstance(first, ast.Starred):
                return ast.Call(ast.Attribute(first, name, ast.Load()), rest, node.keywords)
        return node


def rewrite(tree: ast.Module) -> ast.Module:
    """Write `x.softmax(-1)` for `torch.softmax(x, -1)`."""
    return _Rewriter().visit(tree)
