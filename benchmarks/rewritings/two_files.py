"""Functions and classes in a file of their own, beside the script that uses them."""

from __future__ import annotations

import ast

PARTS = "parts_of_it"


def rewrite(tree: ast.Module) -> dict[str, ast.Module] | ast.Module:
    """Move what needs no variable of the script into another file, if a script is left."""
    imports = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    defines = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    rest = [n for n in tree.body if n not in imports and n not in defines]
    own = {
        n.id
        for node in rest
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    trains = [
        d
        for d in defines
        if any(isinstance(n, ast.Attribute) and n.attr in ("backward", "step") for n in ast.walk(d))
    ]
    moved = [
        d
        for d in defines
        if d not in trains and not own & _reads(d) and not {t.name for t in trains} & _reads(d)
    ]
    if not moved or (len(moved) == len(defines) and not rest):
        return tree
    stays = [d for d in tree.body if d not in moved and d not in imports]
    link = ast.ImportFrom(PARTS, [ast.alias(d.name) for d in moved], 0)
    future = [n for n in imports if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    others = [n for n in imports if n not in future]
    return {
        f"{PARTS}.py": ast.Module([*future, *others, *moved], []),
        "": ast.Module([*future, *others, link, *stays], []),
    }


def _reads(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
