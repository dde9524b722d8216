"""Whether a statement reads a setting: out of the settings object or of another that has its name."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from stethoscope.program.settings.handed_settings import may_read
from stethoscope.program.settings.mentions import Mentions, called, text_of
from stethoscope.program.settings.telling import tells
from stethoscope.program.syntax import FunctionNode, walk


def path_of(node: ast.expr) -> tuple[str, tuple[str, ...]] | None:
    """The variable and the names behind it: `cfg.train["lr"]` is cfg, (train, lr)."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        name = node.attr if isinstance(node, ast.Attribute) else text_of(node.slice)
        if name is None:
            return None
        parts.append(name)
        node = node.value
    return (node.id, tuple(reversed(parts))) if isinstance(node, ast.Name) else None


def touches(statement: ast.stmt, holder: str, path: tuple[str, ...], code: Mentions) -> bool:
    """Whether a statement may read the setting: by its path, or through the settings as a whole."""
    if isinstance(statement, FunctionNode | ast.ClassDef):
        return False  # it runs later, if at all
    return reads_setting(statement, holder, path, code)


def reads_setting(node: ast.AST, holder: str, path: tuple[str, ...], code: Mentions) -> bool:
    """Whether the setting is read in a node, out of this variable or out of another one of its name."""
    for name in walk(node):
        if isinstance(name, ast.Name) and name.id == holder and isinstance(name.ctx, ast.Load):
            if _is_read_at(name, path, code):
                return True
        elif isinstance(name, ast.Attribute) and name.attr == path[-1] and isinstance(name.ctx, ast.Load):
            base = path_of(name)
            if (base is None or base[0] != holder) and not is_told(name, code):
                return True
    return False


def _is_read_at(name: ast.Name, path: Sequence[str], code: Mentions) -> bool:
    """Whether a mention of the settings object reads the setting: not another part, and not to tell of it."""
    node: ast.expr = name
    for part in path:
        parent = code.parents.get(id(node))
        if isinstance(parent, ast.Attribute):
            taken: str | None = parent.attr
        elif isinstance(parent, ast.Subscript) and parent.value is node:
            taken = text_of(parent.slice)
        else:
            break
        if taken is not None and taken != part and not code.is_called(parent):
            return False
        if taken != part:
            break
        node = parent
    parent = code.parents.get(id(node))
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    if isinstance(parent, ast.Assign) and isinstance(node, ast.Name):
        return not all(isinstance(target, ast.Attribute) for target in parent.targets)  # self.cfg = cfg
    if isinstance(parent, ast.Call) and node is name and not may_read(parent, name, path, code):
        return False
    return not is_told(node, code)


def is_told(node: ast.AST, code: Mentions) -> bool:
    """Whether an expression is only printed, logged or saved."""
    inner, parent = node, code.parents.get(id(node))
    while isinstance(parent, ast.FormattedValue | ast.JoinedStr | ast.keyword | ast.Call | ast.Dict):
        if isinstance(parent, ast.Call) and inner is not parent.func:
            if isinstance(inner, ast.expr | ast.keyword) and tells(parent, inner):
                return True
            if called(parent) not in {"vars", "dict", "str", "repr", "asdict", "json.dumps", "to_yaml"}:
                return False
        inner, parent = parent, code.parents.get(id(parent))
    return False
