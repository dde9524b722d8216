"""Settings that an optimizer is given, and that its groups are given anew before the first step.

`optimizer = SGD(parameters, lr=args.lr)` and then `group["lr"] = 1e-3` for each group.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.entries import is_test
from stethoscope.program.index import dotted
from stethoscope.program.mentions import Mentions, Spot, called, taken_by_name, text_of
from stethoscope.program.overwritten_settings import Overwritten
from stethoscope.program.remembered import remembered
from stethoscope.program.setting_reads import is_told
from stethoscope.program.syntax import all_nodes
from stethoscope.program.undone_parameters import Undone
from stethoscope.run import Source

_NUMBERS = frozenset({"lr", "weight_decay", "momentum", "betas", "eps"})


@remembered
def overwritten_groups(code: Mentions) -> tuple[Undone, ...]:
    """Every number of an optimizer that is a setting when it is made and a written one behind that."""
    found: list[Undone] = []
    for source in code.index.program:
        if "param_groups" in source.text and not is_test(source):
            for block in _blocks(source.tree):
                found += _in_block(block, source, code)
    return tuple(found)


def _blocks(tree: ast.Module) -> Iterator[Sequence[ast.stmt]]:
    yield tree.body
    for node in all_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.If | ast.With):
            yield node.body


def _in_block(block: Sequence[ast.stmt], source: Source, code: Mentions) -> Iterator[Undone]:
    made: dict[str, ast.Call] = {}
    for statement in block:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            made.update({path: statement.value for target in statement.targets if (path := dotted(target))})
        for optimizer, name, number in _stored(statement):
            call = made.get(optimizer)
            setting = _given(call, name) if call is not None else None
            if setting is None or call is None or not _is_only_use(setting, source, code):
                continue
            replaced = Overwritten((name,), statement, number, source, "parsed")
            yield Undone(replaced, source.where(call))


def _stored(statement: ast.stmt) -> Iterator[tuple[str, str, ast.expr]]:
    """The optimizer, the name and the number, for a statement that stores it into groups."""
    match statement:
        case ast.For(target=ast.Name(id=group), iter=ast.Attribute(value=owner, attr="param_groups")):
            for inner in statement.body:
                match inner:
                    case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=base), slice=key)], value=value):
                        yield from _number(owner, key, value) if base == group else ()
        case ast.Assign(
            targets=[
                ast.Subscript(
                    value=ast.Subscript(value=ast.Attribute(value=owner, attr="param_groups")), slice=key
                )
            ],
            value=value,
        ):
            yield from _number(owner, key, value)


def _number(owner: ast.expr, key: ast.expr, value: ast.expr) -> Iterator[tuple[str, str, ast.expr]]:
    path, name = dotted(owner), text_of(key)
    # A start from nothing is a warm-up, whose end the setting may well be.
    is_written = isinstance(value, ast.Constant) and isinstance(value.value, int | float) and value.value > 0
    if path and name in _NUMBERS and is_written:
        yield path, name, value


def _given(call: ast.Call, name: str) -> ast.Attribute | ast.Subscript | None:
    """What an optimizer was made with under a name, where that is taken out of settings."""
    given = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    if given is None and name == "lr" and len(call.args) > 1:
        given = call.args[1]
    return given if isinstance(given, ast.Attribute | ast.Subscript) else None


def _is_only_use(setting: ast.Attribute | ast.Subscript, source: Source, code: Mentions) -> bool:
    """Whether nothing else reads the setting: a schedule by hand would, and go on from it."""
    name = setting.attr if isinstance(setting, ast.Attribute) else text_of(setting.slice)
    if name is None:
        return False
    others = [spot for spot in taken_by_name(name, code) if spot.node is not setting]
    return not any(_may_be_setting(spot) and not is_told(spot.node, code) for spot in others)


def _may_be_setting(spot: Spot) -> bool:
    """Not the number of a group: `group["lr"]` has the name of the setting."""
    node = spot.node
    base = getattr(node, "value", None)
    if isinstance(node, ast.Call):
        base = node.func.value if isinstance(node.func, ast.Attribute) else None
        return called(node) == "getattr" or not _is_group(base)
    return not _is_group(base)


def _is_group(base: ast.expr | None) -> bool:
    text = ast.unparse(base) if base is not None else ""
    return "group" in text or text in {"g", "pg"}
