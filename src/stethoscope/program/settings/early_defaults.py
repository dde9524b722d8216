"""Defaults that a parser is given from a file before its flags are declared, or after it has parsed.

parser.set_defaults(**yaml.safe_load(file))
parser.add_argument("--lr", type=float, default=3e-4)   # 3e-4, whatever the file says

args = parser.parse_args()
parser.set_defaults(**yaml.safe_load(file))             # args has been made
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, Spot, text_of
from stethoscope.program.settings.overwritten_settings import Overwritten
from stethoscope.program.settings.settings_origins import given_kind, statement_of
from stethoscope.program.walk.entries import is_test


@remembered
def early_defaults(code: Mentions) -> tuple[Overwritten, ...]:
    """Every flag whose own default is the one that counts, as the file's comes too early or too late."""
    given = [spot for spot in code.calls.get("set_defaults", ()) if not is_test(spot.source)]
    return tuple(
        one for spot in given for one in (*_declared_after(spot, given, code), *_parsed_before(spot, code))
    )


def _declared_after(spot: Spot, given: Sequence[Spot], code: Mentions) -> Iterator[Overwritten]:
    parser = _parser(spot.node)
    if parser is None or not _is_of_file(spot, code):
        return
    scope = code.scope_of(statement_of(spot.node, code))
    again = [one.node.lineno for one in given if one.source is spot.source and _parser(one.node) == parser]
    for flag in code.calls.get("add_argument", ()):
        call = flag.node
        if not isinstance(call, ast.Call) or flag.source is not spot.source or _parser(call) != parser:
            continue
        is_after = max(again) < call.lineno and code.scope_of(statement_of(call, code)) is scope
        default = next((word.value for word in call.keywords if word.arg == "default"), None)
        name = _name(call)
        if is_after and name and default is not None:
            statement = statement_of(call, code)
            told = f"{name} of the file is set before the flag is declared: the flag's own default counts"
            yield Overwritten((name,), statement, default, flag.source, "loaded", default, told)


def _parsed_before(spot: Spot, code: Mentions) -> Iterator[Overwritten]:
    """The flags of a parser that is given a file's defaults when all its parsing is done."""
    parser = _parser(spot.node)
    if parser is None or not _is_of_file(spot, code):
        return
    parsed = [
        one
        for name in ("parse_args", "parse_known_args")
        for one in code.calls.get(name, ())
        if one.source is spot.source and _parser(one.node) == parser
    ]
    scope = code.scope_of(spot.node)
    is_late = all(code.scope_of(one.node) is scope and one.node.lineno < spot.node.lineno for one in parsed)
    if not parsed or not is_late:
        return
    for flag in code.calls.get("add_argument", ()):
        call = flag.node
        if not isinstance(call, ast.Call) or flag.source is not spot.source or _parser(call) != parser:
            continue
        default = next((word.value for word in call.keywords if word.arg == "default"), None)
        name = _name(call)
        if name and default is not None:
            told = f"{name} of the file is set when the flags are parsed: the flag's own default counts"
            yield Overwritten(
                (name,), statement_of(spot.node, code), default, flag.source, "loaded", default, told
            )


def _parser(call: ast.AST) -> str | None:
    """The name of the parser that a method is called of."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name
    return None


def _is_of_file(spot: Spot, code: Mentions) -> bool:
    call = spot.node
    spread = [word.value for word in call.keywords if word.arg is None] if isinstance(call, ast.Call) else []
    return any(given_kind(value, spot.source, code) == "loaded" for value in spread)


def _name(call: ast.Call) -> str:
    flags = [text for arg in call.args if (text := text_of(arg)) is not None and text.startswith("--")]
    dest = next((text_of(word.value) for word in call.keywords if word.arg == "dest"), None)
    return dest or (flags[0].lstrip("-").replace("-", "_") if flags else "")
