"""Flags of the command line whose own default always takes the place of what a settings file says.

`cfg["lr"] = args.lr` lets the command line decide, which is right where the flag says nothing unless somebody
types it. With a default of its own it always says something, and the file is never heard.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TypeGuard

from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, called, text_of
from stethoscope.program.settings.outvoted_options import merges, typed
from stethoscope.program.settings.overwritten_settings import Overwritten
from stethoscope.program.settings.setting_reads import path_of
from stethoscope.program.settings.settings_origins import given_kind, origin_of, statement_of
from stethoscope.program.syntax import all_nodes, walk
from stethoscope.run import Source

_SWITCHES = {"store_true": False, "store_false": True}


@remembered
def flags_over_files(code: Mentions) -> tuple[Overwritten, ...]:
    """Every setting of a file that is replaced by a flag which has a default."""
    flags = _defaults(code)
    return tuple(_replaced(flags, code)) if flags else ()


def _defaults(code: Mentions) -> dict[str, ast.expr]:
    """The flags that are something where nobody types them, with what they are then."""
    found: dict[str, ast.expr] = {}
    for spot in code.calls.get("add_argument", ()):
        call = spot.node
        if not isinstance(call, ast.Call):
            continue
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        switched = _SWITCHES.get(text_of(given.get("action")) or "")
        default = given.get("default") or (None if switched is None else ast.Constant(switched))
        if None in given or not _says_something(default):
            continue
        flags = [text for arg in call.args if (text := text_of(arg)) is not None and text.startswith("--")]
        name = text_of(given.get("dest")) or (flags[0].lstrip("-").replace("-", "_") if flags else "")
        if name and default is not None:
            found[name] = default
    return found


def _says_something(default: ast.expr | None) -> bool:
    if isinstance(default, ast.UnaryOp):
        default = default.operand
    return isinstance(default, ast.Constant) and default.value is not None


def _replaced(flags: Mapping[str, ast.expr], code: Mentions) -> Iterator[Overwritten]:
    for name, default in flags.items():
        for spot in code.attributes.get(name, ()):
            yield from _stored(spot.node, default, spot.source, code)
    for source in {spot.source for spot in code.calls.get("vars", ())}:
        for first, then, node in merges(source.tree, source, code):
            if _is_filtered(then) or given_kind(first, source, code) != "loaded":
                continue
            for name in typed(then, set(flags) - _left_out(then), source, code):
                yield Overwritten((name,), statement_of(node, code), then, source, "loaded", flags[name])
        for loop in all_nodes(source.tree, ast.For):
            yield from _poured(loop, flags, source, code)


def _stored(node: ast.expr, default: ast.expr, source: Source, code: Mentions) -> Iterator[Overwritten]:
    """`cfg.train.lr = args.lr`, also where that is asked for by `if args.lr is not None`."""
    parent = code.parents.get(id(node))
    if not (isinstance(parent, ast.Assign) and parent.value is node and isinstance(node, ast.Attribute)):
        return
    if not isinstance(node.value, ast.Name):
        return
    at = _reached(parent, node, default, code)
    asked = [node for node in walk(at.test) if isinstance(node, ast.Name)] if isinstance(at, ast.If) else []
    if given_kind((asked or [node.value])[0], source, code) != "parsed":
        return
    for target in parent.targets:
        path = path_of(target)
        if path is None or not path[1] or path[0] in {"self", node.value.id}:
            continue
        if origin_of(path[0], path[1], at, source, code) == "loaded":
            yield Overwritten(path[1], parent, node, source, "loaded", default)


def _reached(statement: ast.stmt, flag: ast.expr, default: ast.expr, code: Mentions) -> ast.stmt:
    """The statement, or the condition around it that the flag's default always meets."""
    around = code.parents.get(id(statement))
    if not isinstance(around, ast.If) or around.orelse or statement not in around.body:
        return statement
    test, written = around.test, ast.unparse(flag)
    is_true = ast.unparse(test) == written and bool(getattr(default, "value", True))
    return around if is_true or ast.unparse(test) == f"{written} is not None" else statement


def _poured(
    loop: ast.For, flags: Mapping[str, ast.expr], source: Source, code: Mentions
) -> Iterator[Overwritten]:
    """`for key, value in vars(args).items(): cfg[key] = value`, where None may be left out."""
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=value)]),
            iter=ast.Call(func=ast.Attribute(value=given, attr="items")),
            body=[inner],
        ):
            pass
        case _:
            return
    if isinstance(inner, ast.If) and not inner.orelse and len(inner.body) == 1:
        if ast.unparse(inner.test) != f"{value} is not None":
            return
        inner = inner.body[0]
    into = _element_stored(inner, key, value)
    if into is None:
        return
    for name in typed(given, set(flags), source, code):
        if origin_of(into.id, (name,), loop, source, code) == "loaded":
            yield Overwritten((name,), loop, ast.Name(value), source, "loaded", flags[name])


def _element_stored(statement: ast.stmt, key: str, value: str) -> ast.Name | None:
    """The variable into which a statement puts a value under a key."""
    match statement:
        case ast.Assign(
            targets=[ast.Subscript(value=ast.Name() as into, slice=ast.Name(id=by))], value=ast.Name(id=given)
        ) if (by, given) == (key, value):
            return into
        case ast.Expr(
            value=ast.Call(args=[ast.Name() as into, ast.Name(id=by), ast.Name(id=given)]) as call
        ) if (by, given) == (key, value) and called(call) == "setattr":
            return into
    return None


def _is_filtered(then: ast.expr) -> bool:
    """Whether a mapping leaves out flags for another reason than that they are None, or are one by name."""
    if not isinstance(then, ast.DictComp):
        return False
    asked = [test for one in then.generators for test in one.ifs]
    asked = [part for test in asked for part in (test.values if _is_both(test) else [test])]
    return any(not ast.unparse(test).endswith(" is not None") and not _names_left_out(test) for test in asked)


def _is_both(test: ast.expr) -> TypeGuard[ast.BoolOp]:
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)


def _names_left_out(test: ast.expr) -> set[str]:
    """The names that a condition leaves out: `key != "config"`, `key not in ("config", "out")`."""
    match test:
        case ast.Compare(left=ast.Name(), ops=[ast.NotEq()], comparators=[ast.Constant(value=str() as name)]):
            return {name}
        case ast.Compare(
            left=ast.Name(),
            ops=[ast.NotIn()],
            comparators=[ast.Tuple(elts=names) | ast.List(elts=names) | ast.Set(elts=names)],
        ):
            return {text for one in names if (text := text_of(one)) is not None}
    return set()


def _left_out(then: ast.expr) -> set[str]:
    tests = walk(then) if isinstance(then, ast.DictComp) else ()
    return {name for test in tests if isinstance(test, ast.Compare) for name in _names_left_out(test)}
