"""Settings that an optimizer is given, and that its groups are given anew before the first step.

`optimizer = SGD(parameters, lr=args.lr)` and then `group["lr"] = 1e-3` for each group.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, Spot, called, taken_by_name, text_of
from stethoscope.program.settings.overwritten_settings import Overwritten
from stethoscope.program.settings.program_settings import is_holder
from stethoscope.program.settings.setting_reads import is_told
from stethoscope.program.settings.settings_origins import last_given
from stethoscope.program.settings.undone_parameters import Undone
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# Schedules that set the rate by numbers of their own, whatever it was.
_OWN_RATES = frozenset({"OneCycleLR", "CyclicLR"})
_NUMBERS = frozenset({"lr", "weight_decay", "momentum", "betas", "eps"})


@remembered
def overwritten_groups(code: Mentions) -> tuple[Undone, ...]:
    """Every number of an optimizer that is a setting when it is made and a written one behind that."""
    found: list[Undone] = []
    for source in code.index.program:
        if "param_groups" in source.text and not is_test(source):
            for block in _blocks(source.tree):
                found += _in_block(block, source, code)
            found += _in_functions(source, code)
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


# --- an optimizer that one function makes, and whose rate the next one sets


def _in_functions(source: Source, code: Mentions) -> Iterator[Undone]:
    """`self.make_optimizer()` and then `self.make_schedule()`, which sets the rate that it goes by."""
    functions = all_nodes(source.tree, ast.FunctionDef)
    for function in functions:
        for place, statement in enumerate(function.body):
            for optimizer, name, number in _stored(statement):
                is_of_schedule = any(_makes_schedule(one, optimizer) for one in function.body[place + 1 :])
                made = [(one, call) for one in functions for call in _makers(one, optimizer)]
                if name != "lr" or not is_of_schedule or len(made) != 1 or made[0][0] is function:
                    continue
                maker, call = made[0]
                is_asked = _given(call, name) is not None or _is_poured(call, source, code)
                if is_asked and any(_follow(one.body, maker.name, function.name) for one in functions):
                    told = (
                        f"{optimizer} was made with a {name} of the settings, and gets "
                        f"{ast.unparse(number)} before its schedule is made of that"
                    )
                    replaced = Overwritten((name,), statement, number, source, "parsed", told=told)
                    yield Undone(replaced, source.where(call))


def _makers(function: ast.FunctionDef, optimizer: str) -> Iterator[ast.Call]:
    for node in own_nodes(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            yield from (node.value for target in node.targets if dotted(target) == optimizer)


def _makes_schedule(statement: ast.stmt, optimizer: str) -> bool:
    """Whether a statement makes a schedule that takes the rate of an optimizer for its base."""
    if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
        return False
    last = called(statement.value).rpartition(".")[2]
    given = [*statement.value.args, *(keyword.value for keyword in statement.value.keywords)]
    is_schedule = last.endswith(("LR", "Scheduler", "scheduler", "schedule")) and last not in _OWN_RATES
    names = [text for one in given for inner in all_nodes(one) if (text := _name(inner))]
    has_own = any(
        "lr" in words(text) and "min" not in words(text) for text in names
    )  # Ramp(optimizer, cfg.lr)
    return is_schedule and not has_own and any(dotted(one) == optimizer for one in given)


def _name(node: ast.AST) -> str:
    key = text_of(node.slice) if isinstance(node, ast.Subscript) else None
    return key or str(getattr(node, "attr", getattr(node, "id", "")))


def _is_poured(call: ast.Call, source: Source, code: Mentions) -> bool:
    """Whether an optimizer gets a section of the settings as it is: `Adam(parameters, **opt["optim"])`."""
    for keyword in call.keywords:
        if keyword.arg is None:
            made = last_given(keyword.value, source, code) if isinstance(keyword.value, ast.Name) else None
            if any(is_holder(_name(one)) for one in all_nodes(made or keyword.value)):
                return True
    return False


def _follow(body: Sequence[ast.stmt], first: str, then: str) -> bool:
    """Whether a body calls one function and behind it another, both on every way through it."""
    names = [
        called(statement.value).rpartition(".")[2]
        if isinstance(statement, ast.Expr | ast.Assign) and isinstance(statement.value, ast.Call)
        else ""
        for statement in body
    ]
    return first in names and then in names[names.index(first) + 1 :]


# --- what is set, and what it was given before


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
