"""`from torch.nn import Linear` for `nn.Linear`, and the like for losses and optimizers."""

from __future__ import annotations

import ast
import builtins

TAKEN = frozenset(
    {"torch.nn", "torch.nn.functional", "torch.optim", "torch.utils.data", "torch.optim.lr_scheduler"}
)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, homes: dict[str, str], taken: set[str]) -> None:
        self.homes, self.taken = homes, taken
        self.found: dict[str, str] = {}

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        home = self.homes.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if home is None and ast.unparse(node.value) in TAKEN and "torch" in self.homes:
            home = ast.unparse(node.value)
        is_function = home in TAKEN and node.attr not in self.taken and f"{home}.{node.attr}" not in PACKAGES
        if is_function and self.found.setdefault(node.attr, home) == home:
            return ast.Name(node.attr, node.ctx)
        self.generic_visit(node)
        return node


PACKAGES = TAKEN | {
    "torch.nn.utils",
    "torch.nn.init",
    "torch.nn.parallel",
    "torch.nn.modules",
    "torch.optim.swa_utils",
}


def rewrite(tree: ast.Module) -> ast.Module:
    """Import what is used of torch by itself."""
    homes: dict[str, str] = {}
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {
        n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)
    }
    names |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)} | set(
        dir(builtins)
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            homes |= {
                one.asname or one.name.partition(".")[0]: one.name
                if one.asname
                else one.name.partition(".")[0]
                for one in node.names
            }
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            homes |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    rewriter = _Rewriter(homes, names | set(homes))
    tree = rewriter.visit(tree)
    future = next(
        (
            i
            for i, n in enumerate(tree.body)
            if not (isinstance(n, ast.ImportFrom) and n.module == "__future__")
            and not isinstance(n, ast.Expr)
        ),
        0,
    )
    tree.body[future:future] = [
        ast.ImportFrom(home, [ast.alias(name)], 0) for name, home in rewriter.found.items()
    ]
    return tree
