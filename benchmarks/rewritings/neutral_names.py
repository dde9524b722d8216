"""Every variable under a name that says nothing."""

from __future__ import annotations

import ast

from rewritings._scopes import variables


def rewrite(tree: ast.Module) -> ast.Module:
    """Name the variables and the parameters that nobody gives by name in the order of the alphabet."""
    names = {old: f"v{index}" for index, old in enumerate(sorted(variables(tree)))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            node.id = names[node.id]
        elif isinstance(node, ast.arg) and node.arg in names:
            node.arg = names[node.arg]
    return tree
