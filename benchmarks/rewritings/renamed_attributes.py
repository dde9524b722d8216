"""What objects keep of their own, under other names: `self.m_net` for `self.net`."""

from __future__ import annotations

import ast

HOOKS = frozenset(
    [
        "forward",
        "train",
        "eval",
        "training",
        "automatic_optimization",
        "global_step",
        "current_epoch",
        "trainer",
        "device",
        "dtype",
    ]
)


def rewrite(tree: ast.Module) -> ast.Module:
    """Put a prefix before every attribute that a class without bases gives itself and nobody else reads."""
    names = own_attributes(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in names and _is_of_self(node):
            node.attr = f"m_{node.attr}"
    return tree


def own_attributes(tree: ast.Module) -> set[str]:
    """What classes without bases give themselves, and nobody else reads or calls by name."""
    own = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.bases
        for name in _given(node)
    }
    elsewhere = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.bases
        for name in _given(node)
    }
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    names = own - elsewhere - texts - HOOKS
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    names -= {node.attr for node in attributes if not _is_of_self(node)}
    names -= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return names


def _is_of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _given(node: ast.ClassDef) -> set[str]:
    return {
        n.attr
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute)
        and isinstance(n.ctx, ast.Store)
        and isinstance(n.value, ast.Name)
        and n.value.id == "self"
    }
