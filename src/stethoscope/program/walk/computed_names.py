"""Methods that are called by a name put together where they are called: `getattr(hook, "on_" + event)(self)`.

Engines with callbacks do so. A method belongs to such a call where its name fits, and where what is put in
was handed to some call as a text: `self.fire("batch_end")`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from stethoscope.program.index import Function, Index
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes


@remembered
def called_by_computed_names(index: Index) -> dict[str, list[Function]]:
    """The functions that call a method by a computed name, by the name of the method."""
    dispatchers = [(fit, function) for function in index.functions for fit in _computed(function)]
    if not dispatchers:
        return {}
    spoken = _texts_handed_over(index)
    methods = {function.name for function in index.functions if function.owner is not None}
    found: dict[str, list[Function]] = {}
    for name in sorted(methods):
        for fit, function in dispatchers:
            put_in = fit.fullmatch(name)
            if put_in is not None and put_in[1] in spoken and function.name != name:
                found.setdefault(name, []).append(function)
    return found


def _computed(function: Function) -> Iterator[re.Pattern[str]]:
    """What the names look like by which a function calls something."""
    for node in own_nodes(function.node, ast.Call):
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.expr() as name, *_]):
                fit = _form_of(name, own_nodes(function.node, ast.Assign))
                if fit is not None:
                    yield re.compile(fit)


def _form_of(name: ast.expr, assigned: Sequence[ast.Assign]) -> str | None:
    """A pattern with one group for what is put in; None where a name is no computed one."""
    match name:
        case ast.Name(id=known):
            made = [one.value for one in assigned if _is_name(one, known)]
            return _form_of(made[0], []) if len(made) == 1 else "(.+)"
        case ast.BinOp(op=ast.Add(), left=ast.Constant(value=str() as head), right=right):
            return f"{re.escape(head)}(.+)" if not isinstance(right, ast.Constant) else None
        case ast.BinOp(op=ast.Add(), left=left, right=ast.Constant(value=str() as tail)):
            return f"(.+){re.escape(tail)}" if not isinstance(left, ast.Constant) else None
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str() as form)) if form.count("%s") == 1:
            return re.escape(form).replace("%s", "(.+)")
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as form), attr="format")):
            return re.escape(form).replace(r"\{\}", "(.+)") if form.count("{}") == 1 else None
        case ast.JoinedStr(values=parts) if sum(isinstance(one, ast.FormattedValue) for one in parts) == 1:
            return "".join(
                re.escape(str(one.value)) if isinstance(one, ast.Constant) else "(.+)" for one in parts
            )
    return None


def _is_name(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _texts_handed_over(index: Index) -> set[str]:
    return {
        arg.value
        for module in index.modules.values()
        for call in all_nodes(module.source.tree, ast.Call)
        if isinstance(call, ast.Call)
        for arg in (*call.args, *(keyword.value for keyword in call.keywords))
        if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
    }
