"""What stands at the top of a script, in a function `main`."""

from __future__ import annotations

import ast

DEFINES = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)


def rewrite(tree: ast.Module) -> ast.Module:
    """Move the statements of a script into `main`, if no function reads its variables."""
    loose = [node for node in tree.body if not isinstance(node, DEFINES) and not _is_text(node)]
    defines = [node for node in tree.body if node not in loose]
    made = {
        n.id
        for node in loose
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    read = {
        n.id
        for node in defines
        if not isinstance(node, ast.Import | ast.ImportFrom)
        for n in ast.walk(node)
        if isinstance(n, ast.Name)
    }
    constants = [node for node in loose if _names(node) & read]
    body = [node for node in loose if node not in constants]
    if not body or any(isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) for node in body):
        return tree
    if any(not _is_constant(node) for node in constants) or made & {
        n.name for n in defines if hasattr(n, "name")
    }:
        return tree
    main = ast.FunctionDef(
        "main", ast.arguments([], [], None, [], [], None, []), body, [], None, type_params=[]
    )
    call = ast.parse('if __name__ == "__main__":\n    main()').body[0]
    imports = [node for node in defines if isinstance(node, ast.Import | ast.ImportFrom) or _is_text(node)]
    others = [node for node in defines if node not in imports]
    tree.body = [*imports, *constants, *others, main, call]
    return tree


def _names(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
