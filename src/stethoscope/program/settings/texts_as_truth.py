"""Texts that say no and are taken for yes: `bool("False")` is true."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Index, dotted
from stethoscope.program.settings.mentions import Mentions, Spot, mentions, taken_by_name, text_of
from stethoscope.program.walk.entries import is_test

SAYING_NO = frozenset({"false", "0", "no", "off", "f", "n", "none"})
ENVIRONMENT = frozenset({"os.environ.get", "os.getenv", "environ.get", "getenv"})


@dataclass(frozen=True, slots=True, eq=False)
class BooleanOption:
    """`add_argument("--amp", type=bool)`: whatever text it is given but an empty one is true."""

    name: str
    call: Spot
    type: ast.expr


@dataclass(frozen=True, slots=True, eq=False)
class TextOption:
    """An option whose default is a text that says no, and which is only asked whether it is true."""

    name: str
    text: str
    call: Spot
    asked: Spot


def says_no(text: object) -> bool:
    """Whether a text is one that people write for no."""
    return isinstance(text, str) and text.strip().lower() in SAYING_NO


def boolean_options(index: Index) -> Iterator[BooleanOption]:
    """The options that argparse makes true of every text."""
    for call, node, name in declared_flags(mentions(index)):
        told = {word.arg: word.value for word in node.keywords}
        kind = told.get("type")
        if isinstance(kind, ast.Name) and kind.id == "bool":
            yield BooleanOption(name, call, kind)
    yield from _of_fields(index)


def _of_fields(index: Index) -> Iterator[BooleanOption]:
    """`for f in fields(Config): add_argument(f"--{f.name}", type=type(f.default))`."""
    code = mentions(index)
    for call in code.calls.get("add_argument", ()):
        if not isinstance(call.node, ast.Call) or is_test(call.source):
            continue
        kind = next((word.value for word in call.node.keywords if word.arg == "type"), None)
        record = _record_of_fields(call, code) if kind is not None and _is_type_of_field(kind) else None
        if kind is None or record is None:
            continue
        for node in record.node.body:
            match node:
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=bool())):
                    yield BooleanOption(name, call, kind)


def _is_type_of_field(kind: ast.expr) -> bool:
    match kind:
        case ast.Attribute(attr="type"):
            return True
        case ast.Call(func=ast.Name(id="type"), args=[ast.Attribute(attr="default")]):
            return True
    return False


def _record_of_fields(call: Spot, code: Mentions) -> Class | None:
    """The record whose fields are gone through around a call, where none of them is told apart."""
    node: ast.AST | None = call.node
    while node is not None and not isinstance(node, ast.For):
        if isinstance(node, ast.If | ast.IfExp | ast.FunctionDef):
            return None
        node = code.parents.get(id(node))
    match node:
        case ast.For(iter=ast.Call(func=func, args=[ast.Name() | ast.Attribute() as of])) if dotted(func) in {
            "fields",
            "dataclasses.fields",
        }:
            found = code.index.resolve(code.index.module_of(call.source), dotted(of) or "")
            return found if isinstance(found, Class) else None
    return None


def text_options(index: Index) -> Iterator[TextOption]:
    """The options that are texts, say no by themselves, and are asked as if they were true or false."""
    code = mentions(index)
    for call, node, name in declared_flags(code):
        told = {word.arg: word.value for word in node.keywords}
        is_text = "type" not in told or getattr(told["type"], "id", "") == "str"
        default = text_of(told.get("default"))
        if is_text and "action" not in told and default is not None and says_no(default):
            asked = asked_for_truth(name, code)
            if asked is not None:
                yield TextOption(name, default, call, asked)


def declared_flags(code: Mentions) -> Iterator[tuple[Spot, ast.Call, str]]:
    """The flags of a program that are written out, with their calls and the names they are kept under."""
    for spot in code.calls.get("add_argument", ()):
        node = spot.node
        if not isinstance(node, ast.Call) or is_test(spot.source):
            continue
        flags = [text for arg in node.args if (text := text_of(arg)) is not None]
        long = [flag for flag in flags if flag.startswith("--")] or flags
        told = {word.arg: word.value for word in node.keywords}
        name = text_of(told.get("dest")) or (long[0].lstrip("-").replace("-", "_") if long else "")
        if name:
            yield spot, node, name


def asked_for_truth(name: str, code: Mentions) -> Spot | None:
    """Where what has this name is asked whether it is true, if nothing else is done with it anywhere."""
    spots = list(taken_by_name(name, code))
    if not spots or not all(_is_asked(spot.node, code) for spot in spots):
        return None
    return spots[0]


def environment_texts(index: Index) -> Iterator[tuple[Spot, str]]:
    """Reads of the environment whose default says no, and which are asked whether they are true."""
    code = mentions(index)
    for name in ("get", "getenv"):
        for spot in code.calls.get(name, ()):
            node = spot.node
            if not isinstance(node, ast.Call) or dotted(node.func) not in ENVIRONMENT or len(node.args) != 2:
                continue
            default = text_of(node.args[1])
            if default is not None and says_no(default) and _ends_in_question(node, spot, code):
                yield spot, default


def _ends_in_question(node: ast.expr, spot: Spot, code: Mentions) -> bool:
    """Whether a text is asked itself, or is kept under one name of its file that is only asked."""
    if _is_asked(node, code):
        return True
    parent = code.parents.get(id(node))
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)]) if len(code.given.get(name, ())) == 1:
            reads = code.names_in(spot.source, name)
            return bool(reads) and all(_is_asked(read.node, code) for read in reads)
    return False


def _is_asked(node: ast.AST, code: Mentions) -> bool:
    """Whether an expression is asked whether it is true: by `if`, `not`, `bool()`, alone or beside others."""
    parent = code.parents.get(id(node))
    match parent:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            return test is node
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Call(func=ast.Name(id="bool")):
            return True
        case ast.BoolOp():
            return _is_asked(parent, code)
        case ast.keyword(arg="enabled"):
            return True
    return False
