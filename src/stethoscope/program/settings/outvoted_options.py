"""Options of the command line that a file takes the place of, which is read after them.

Only options without a default count: they ask for something only where somebody typed them, so a file that
always has a value of its own leaves them without any effect. Defaults that a file replaces are usual.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, called, text_of, texts_of
from stethoscope.program.settings.overwritten_settings import Overwritten
from stethoscope.program.settings.program_settings import is_holder
from stethoscope.program.settings.setting_reads import is_told
from stethoscope.program.settings.settings_objects import PARSING
from stethoscope.program.settings.settings_origins import given_kind, last_given, statement_of
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.run import Source

MERGING = frozenset({"update", "merge", "dict"})  # calls that put mappings together


@remembered
def outvoted_options(code: Mentions) -> tuple[Overwritten, ...]:
    """Every option without a default that is put into a mapping over which a loaded file is then poured."""
    return tuple(_outvoted(code))


def _outvoted(code: Mentions) -> Iterator[Overwritten]:
    for source, flags in _flags_without_default(code).items():
        for first, then, node in merges(source.tree, source, code):
            if given_kind(then, source, code) != "loaded":
                continue
            statement = statement_of(node, code)
            for name in typed(first, flags, source, code):
                yield Overwritten((name,), statement, then, source, "parsed")


@remembered
def buried_settings(code: Mentions) -> tuple[Overwritten, ...]:
    """Every setting over which a table is poured that the code has written out: `loaded.update(DEFAULTS)`."""
    return tuple(_buried_settings(code))


def _buried_settings(code: Mentions) -> Iterator[Overwritten]:
    for source in code.index.program:
        if not any(word in source.text for word in ("update", "**", "|", "merge")):
            continue
        for first, then, node in merges(source.tree, source, code):
            table = _written_out(then, source, code)
            kind = given_kind(first, source, code) if table is not None else None
            if table is None or kind is None:
                continue
            for path, value in _leaves(table):
                yield Overwritten(path, statement_of(node, code), value, source, kind)


def _leaves(table: ast.Dict, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], ast.Constant]]:
    """The plain values in a table and in those inside it, with the names that lead to them."""
    for key, value in zip(table.keys, table.values, strict=True):
        name = text_of(key) if key is not None else None
        if name is not None and isinstance(value, ast.Constant):
            yield (*above, name), value
        elif name is not None and isinstance(value, ast.Dict):
            yield from _leaves(value, (*above, name))


def _written_out(then: ast.expr, source: Source, code: Mentions) -> ast.Dict | None:
    """The table that an expression is, where it stands in the code: a literal, or a name of one."""
    match then:
        case ast.Dict():
            return then
        case ast.Name(id=name):
            over = _gone_through(then, code)
            if over is not None:  # each section of a table in turn
                return _written_out(over, source, code)
            made = last_given(then, source, code)
            found = made or code.index.resolve(code.index.module_of(source), name)
            value = getattr(found, "value", found)
            return _written_out(value, source, code) if isinstance(value, ast.Dict | ast.Call) else None
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=[_, *_] as given) if all(
            w.arg for w in given
        ):
            return ast.Dict([ast.Constant(word.arg) for word in given], [word.value for word in given])
        case ast.Call(args=[inner]) if called(then).rpartition(".")[2] in {"create", "dict", "deepcopy"}:
            return _written_out(inner, source, code)
        case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[]):
            return _written_out(inner, source, code)
    return None


def _gone_through(name: ast.Name, code: Mentions) -> ast.expr | None:
    """The table of which a loop has the variable for its sections: `for key, part in DEFAULTS.items()`."""
    node: ast.AST | None = name
    while node is not None and not isinstance(node, FunctionNode):
        over = node.generators if isinstance(node, ast.DictComp) else [node]
        for one in over:
            match one:
                case (
                    ast.For(target=ast.Tuple(elts=[_, ast.Name(id=part)]), iter=header)
                    | ast.comprehension(target=ast.Tuple(elts=[_, ast.Name(id=part)]), iter=header)
                ) if part == name.id:
                    match header:
                        case ast.Call(func=ast.Attribute(value=table, attr="items"), args=[]):
                            return table
        node = code.parents.get(id(node))
    return None


def _flags_without_default(code: Mentions) -> dict[Source, set[str]]:
    """The flags of each file that declares any."""
    found: dict[Source, set[str]] = {}
    for spot in code.calls.get("add_argument", ()):
        call = spot.node
        if not isinstance(call, ast.Call):
            continue
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        default = given.get("default", ast.Constant(None))
        if {"required", "action", None} & given.keys() or getattr(default, "value", 0) is not None:
            continue
        flags = [text for arg in call.args if (text := text_of(arg)) is not None and text.startswith("--")]
        dest = text_of(given.get("dest"))
        if flags:
            found.setdefault(spot.source, set()).add(dest or flags[0].lstrip("-").replace("-", "_"))
    return found


def mergings(tree: ast.AST) -> Iterator[ast.expr]:
    """The expressions that may put mappings together: tables, operators, and calls of what does."""
    for node in all_nodes(tree, ast.Dict, ast.Call, ast.BinOp):
        name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
        if not isinstance(node, ast.Call) or name in MERGING:
            yield node


def merges(tree: ast.AST, source: Source, code: Mentions) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    """Every pair of mappings of which the second wins, and where they are put together."""
    for node in mergings(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=into, attr="update"), args=[then], keywords=[]):
                first = last_given(into, source, code) if isinstance(into, ast.Name) else into
                if first is not None:
                    yield first, then, node
            case ast.Dict(keys=[None, ast.Constant(), *_] as keys, values=[first, *values]) if (
                None not in keys[1:] and _is_settings(node, code)
            ):  # {**vars(args), "lr": 1e-3}
                yield first, ast.Dict(keys[1:], values), node
            case (
                ast.Dict(keys=[None, None], values=[first, then])
                | ast.BinOp(left=first, op=ast.BitOr(), right=then)
            ):
                yield first, then, node
            case ast.Call(args=[first], keywords=[ast.keyword(arg=None, value=then)]) if (
                called(node) == "dict"
            ):
                yield first, then, node
            case ast.Call(func=ast.Attribute(attr="merge"), args=[first, then], keywords=[]):
                yield first, then, node  # OmegaConf: the last one wins


def _is_settings(table: ast.Dict, code: Mentions) -> bool:
    """Whether a table is the settings from then on, and no record of them: `Namespace(**table)`."""
    parent = code.parents.get(id(table))
    if isinstance(parent, ast.keyword):
        call = code.parents[id(parent)]
        return parent.arg is None and isinstance(call, ast.Call) and not is_told(table, code)
    return isinstance(parent, ast.Assign) and any(is_holder(dotted(one) or "") for one in parent.targets)


def typed(first: ast.expr, flags: set[str], source: Source, code: Mentions) -> Iterator[str]:
    """The options that a mapping is made of."""
    match first:
        case ast.Name():
            made = last_given(first, source, code)
            if made is not None and not isinstance(made, ast.Name):
                yield from typed(made, flags, source, code)
        case ast.Call(args=[ast.Name() as args]) if called(first) == "vars":
            yield from sorted(flags) if _is_parsed(args, source, code) else ()
        case ast.Call(args=[inner]) if called(first) == "dict":
            yield from typed(inner, flags, source, code)
        case ast.Attribute(value=ast.Name() as args, attr="__dict__"):
            yield from sorted(flags) if _is_parsed(args, source, code) else ()
        case ast.DictComp(
            value=ast.Call(func=ast.Name(id="getattr"), args=[ast.Name() as args, key, *_])
        ) if _is_parsed(args, source, code):
            yield from (name for name in texts_of(key, code) or () if name in flags)
        case ast.DictComp(generators=[ast.comprehension(iter=ast.Call(func=ast.Attribute(value=inner)))]):
            yield from typed(inner, flags, source, code)  # for k, v in vars(args).items()
        case ast.Dict(values=values):
            for value in values:
                match value:
                    case ast.Attribute(value=ast.Name() as args, attr=name) if name in flags:
                        if _is_parsed(args, source, code):
                            yield name


def _is_parsed(args: ast.Name, source: Source, code: Mentions) -> bool:
    made = last_given(args, source, code)
    return isinstance(made, ast.Call) and called(made).rpartition(".")[2] in PARSING
