"""Whether functions that are handed the settings as a whole can read one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, called, text_of
from stethoscope.program.settings.telling import tells
from stethoscope.program.syntax import FunctionNode, walk

DEEPEST = 4  # functions that hand the settings on to one another

# What sets how the settings behave and reads none of them.
_MANNERS = frozenset({"OmegaConf.set_struct", "OmegaConf.set_readonly", "OmegaConf.resolve"})

Node = FunctionNode | ast.ClassDef


def may_read(
    call: ast.Call, given: ast.expr, path: Sequence[str], code: Mentions, left: int = DEEPEST
) -> bool:
    """Whether a call that gets the settings may read the one at a path."""
    if called(call) in _MANNERS:
        return False
    target = _target(call, code)
    if target is None or left == 0 or any(isinstance(arg, ast.Starred) for arg in call.args):
        return True
    function = _entered(target)
    name = (
        _parameter(function, call, given, isinstance(code.scope_of(function), ast.ClassDef))
        if function
        else ""
    )
    if not function or not name or any(_speaks_of(node, path[-1]) for node in walk(target)):
        return True
    kept = {name}
    for mention in _mentions_of(function, name):
        parent = code.parents.get(id(mention))
        taken = _taken(mention, parent)
        if taken is not None:
            if (
                taken == path[0]
                and len(path) > 1
                and not isinstance(code.parents.get(id(parent)), ast.Attribute)
            ):
                return True  # its section as a whole
            continue
        if isinstance(parent, ast.Assign) and _is_own(parent.targets) and isinstance(target, ast.ClassDef):
            kept.update(t.attr for t in parent.targets if isinstance(t, ast.Attribute))
        elif isinstance(parent, ast.Call) and mention in parent.args:
            if not tells(parent, mention) and may_read(parent, mention, path, code, left - 1):
                return True
        else:
            return True
    return any(_is_handed_on(node, kept - {name}, code) for node in walk(target))


def _speaks_of(node: ast.AST, name: str) -> bool:
    return getattr(node, "attr", None) == name or (isinstance(node, ast.Constant) and node.value == name)


def _mentions_of(function: FunctionNode, name: str) -> Iterator[ast.Name]:
    for node in walk(function):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            yield node


def _taken(mention: ast.expr, parent: ast.AST | None) -> str | None:
    """The name of what is taken out of the settings; `.get` and the like take what nobody knows."""
    if isinstance(parent, ast.Attribute):
        return parent.attr if parent.attr not in {"get", "items", "values", "pop", "copy", "keys"} else None
    if isinstance(parent, ast.Subscript) and parent.value is mention:
        return text_of(parent.slice)
    return None


def _is_own(targets: Sequence[ast.expr]) -> bool:
    return all(isinstance(t, ast.Attribute) and getattr(t.value, "id", "") == "self" for t in targets)


def _is_handed_on(node: ast.AST, kept: set[str], code: Mentions) -> bool:
    """Whether what an object kept of the settings leaves it: `build(self.cfg)`."""
    if not (isinstance(node, ast.Attribute) and node.attr in kept and isinstance(node.ctx, ast.Load)):
        return False
    return _taken(node, code.parents.get(id(node))) is None


def _target(call: ast.Call, code: Mentions) -> Node | None:
    """The only function or class of the repository that is called so."""
    found = _by_name(code).get(called(call).rpartition(".")[2], [])
    return found[0] if len(found) == 1 else None


@remembered
def _by_name(code: Mentions) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for function in code.index.functions:
        found.setdefault(function.name, []).append(function.node)
    for cls in code.index.classes:
        found.setdefault(cls.name, []).append(cls.node)
    return found


def _entered(target: Node) -> FunctionNode | None:
    if isinstance(target, FunctionNode):
        return target
    own = (one for one in target.body if isinstance(one, FunctionNode))
    return next((one for one in own if one.name == "__init__"), None)


def _parameter(function: FunctionNode, call: ast.Call, given: ast.expr, is_method: bool) -> str:
    """The parameter that an argument fills."""
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)][1 if is_method else 0 :]
    if given in call.args:
        position = call.args.index(given)
        return names[position] if position < len(names) else ""
    return next((k.arg for k in call.keywords if k.value is given and k.arg in names), "") or ""
