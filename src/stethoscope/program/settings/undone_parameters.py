"""Parameters and settings that a body of code takes in and replaces by a written number before it reads them.

`def __init__(self, dropout): dropout = 0.5`, `self.epochs = epochs` before a `super().__init__()` that sets
it to 10, `lr = cfg["lr"]` and then `lr = 1e-3`, and fields of a record that its `__post_init__` sets.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, called
from stethoscope.program.settings.overwritten_settings import Overwritten
from stethoscope.program.settings.settings_tree import HOLDERS
from stethoscope.program.syntax import walk
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Where


@dataclass(frozen=True, slots=True, eq=False)
class Undone:
    """What is replaced, and where it was taken in before."""

    replaced: Overwritten
    taken: Where


@remembered
def undone_parameters(code: Mentions) -> tuple[Undone, ...]:
    """Every parameter or setting that is taken in and replaced before anything reads it."""
    return tuple(_undone_parameters(code))


def _undone_parameters(code: Mentions) -> Iterator[Undone]:
    for function in code.index.functions:
        if is_test(function.source):
            continue
        yield from _in_body(function, code)
        if function.name == "__init__" and isinstance(function.owner, Class):
            yield from _by_base(function, function.owner, code)
        if function.name == "__post_init__" and isinstance(function.owner, Class):
            yield from _after_init(function, function.owner)
    for module in code.index.modules.values():
        if not is_test(module.source):
            body = [s for s in module.source.tree.body if isinstance(s, ast.Assign | ast.Expr)]
            for taken, again, name in _pairs(body, set()):
                replaced = Overwritten((name,), again, again.value, module.source, "parameter")
                yield Undone(replaced, module.source.where(taken))


def _in_body(function: Function, code: Mentions) -> Iterator[Undone]:
    body = function.node.body
    given = set(function.parameters) - {"self", "cls"}
    for place, statement in enumerate(body):
        name = _sets_number(statement)
        if name in given and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            before = body[:place]
            if not any(_reads(one, name) for one in before) and _is_told(function, name, code):
                replaced = Overwritten((name,), statement, statement.value, function.source, "parameter")
                yield Undone(replaced, function.where())
    for taken, again, name in _pairs(body, given):
        replaced = Overwritten((name,), again, again.value, function.source, "parameter")
        yield Undone(replaced, function.source.where(taken))


def _pairs(body: Sequence[ast.stmt], given: set[str]) -> Iterator[tuple[ast.Assign, ast.Assign, str]]:
    """`self.lr = lr` or `lr = cfg.lr`, and a number for the same thing, straight below in one body."""
    taken: dict[str, ast.Assign] = {}
    for statement in body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = dotted(statement.targets[0]) or ""
            name = _sets_number(statement)
            if name and target in taken:
                yield taken.pop(target), statement, name
                continue
        for target in list(taken):
            if _reads_path(statement, target):
                del taken[target]
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = dotted(statement.targets[0]) or ""
            if target and _is_taken(statement.value, target, given):
                taken[target] = statement


def _is_taken(value: ast.expr, target: str, given: set[str]) -> bool:
    """Whether a value is a parameter or a setting of the same name."""
    name = target.rpartition(".")[2]
    if isinstance(value, ast.Name):
        return "." in target and value.id in given and value.id == name
    holder = value.value if isinstance(value, ast.Attribute | ast.Subscript) else None
    key = value.attr if isinstance(value, ast.Attribute) else None
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        key = value.slice.value if isinstance(value.slice.value, str) else None
    return key == name and isinstance(holder, ast.Name) and holder.id.lower() in HOLDERS


def _by_base(function: Function, cls: Class, code: Mentions) -> Iterator[Undone]:
    """What the `__init__` of a base class sets anew, called after the class has set it."""
    taken: dict[str, ast.Assign] = {}
    given = set(function.parameters)
    for place, statement in enumerate(function.node.body):
        if isinstance(statement, ast.Assign):
            target = dotted(statement.targets[0]) or ""
            holder, _, name = target.partition(".")
            is_given = isinstance(statement.value, ast.Name) and statement.value.id in given
            if holder == "self" and is_given and "." not in name:
                taken[name] = statement
            continue
        if not (isinstance(statement, ast.Expr) and _calls_base(statement.value)):
            continue
        base = next((one for one in code.index.lineage(cls)[1:] if "__init__" in one.methods), None)
        init = base.methods["__init__"] if base is not None else None
        later = {name for one in function.node.body[place + 1 :] for name in _set_by(one)}
        for one in init.node.body if init is not None else ():
            name = _sets_number(one)
            if isinstance(one, ast.Assign) and name in taken and name not in later and init is not None:
                replaced = Overwritten((name,), one, one.value, init.source, "parameter")
                yield Undone(replaced, function.source.where(taken[name]))


def _after_init(function: Function, cls: Class) -> Iterator[Undone]:
    """Fields of a record that are replaced as soon as it is made."""
    fields = {
        one.target.id: one
        for one in cls.node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        if "init=False" not in ast.unparse(one).replace(" ", "")
    }
    body = function.node.body
    for place, statement in enumerate(body):
        name = _sets_number(statement)
        if name not in fields or not isinstance(statement, ast.Assign):
            continue
        path = f"self.{name}"
        if dotted(statement.targets[0]) == path and not any(_reads_path(one, path) for one in body[:place]):
            replaced = Overwritten((name,), statement, statement.value, function.source, "parameter")
            yield Undone(replaced, function.source.where(fields[name]))


def _calls_base(value: ast.expr) -> bool:
    """`super().__init__(...)` or `Base.__init__(self, ...)`."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "__init__"
    )


def _set_by(statement: ast.stmt) -> Iterator[str]:
    for node in walk(statement):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _sets_number(statement: ast.stmt) -> str:
    """The name that a statement gives a written number: `dropout = 0.5`, `self.epochs = 10`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    value = statement.value
    known = value.operand if isinstance(value, ast.UnaryOp) else value
    is_number = isinstance(known, ast.Constant) and isinstance(known.value, int | float)
    target = dotted(statement.targets[0]) or ""
    is_plain = target.count(".") == 0 or (target.startswith("self.") and target.count(".") == 1)
    return target.rpartition(".")[2] if is_number and is_plain else ""


def _reads(statement: ast.stmt, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in walk(statement))


def _reads_path(statement: ast.stmt, path: str) -> bool:
    """Whether a statement may read something: by its name, or in a method of the object that holds it."""
    for node in walk(statement):
        if isinstance(node, ast.Attribute | ast.Name) and dotted(node) == path:
            return True
        if "." in path and isinstance(node, ast.Call):
            holder = dotted(node.func) or ""
            if holder.startswith(("self.", "super")) or _hands_on(node) or not holder:
                return True
    return False


def _hands_on(call: ast.Call) -> bool:
    return any(isinstance(arg, ast.Name) and arg.id == "self" for arg in call.args)


def _is_told(function: Function, name: str, code: Mentions) -> bool:
    """Whether a caller in the program gives the parameter something that is no written number."""
    owner = function.owner
    target = owner.name if isinstance(owner, Class) and function.name == "__init__" else function.name
    names = list(function.parameters)
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    for spot in code.calls.get(target, ()):
        call = spot.node
        if not isinstance(call, ast.Call) or called(call).rpartition(".")[2] != target:
            continue
        place = names.index(name)
        given = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
        if given is None and place < len(call.args):
            given = call.args[place]
        if given is not None:
            return True
    return False
