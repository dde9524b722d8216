"""Torch and its parts imported under other names."""

from __future__ import annotations

import ast

OTHER_NAMES = {"torch": "th", "F": "fn", "nn": "tnn", "optim": "topt", "np": "numpy_", "math": "maths"}


def rewrite(tree: ast.Module) -> ast.Module:
    """Give every import that is known by a short name another one."""
    given = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                if name in OTHER_NAMES and (isinstance(node, ast.ImportFrom) or "." not in name):
                    alias.asname = given[name] = OTHER_NAMES[name]
    whole = {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if "." in alias.name and not alias.asname
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in whole and alias.asname:
                    alias.asname = None
    given = {name: other for name, other in given.items() if name not in whole}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in given:
            node.id = given[node.id]
    return tree
