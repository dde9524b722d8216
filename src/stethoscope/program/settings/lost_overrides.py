"""Settings that were typed, merged into an object, and lost with it.

`cfg = load(path).override(args.set)` and then `cfg = load(path)`; `OmegaConf.merge(cfg, typed)` whose result
nobody keeps; `{**given, **defaults}`, in which the defaults win over everything that was given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from stethoscope.program.index import Class, Function, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, called
from stethoscope.program.settings.outvoted_options import mergings
from stethoscope.program.settings.overwritten_settings import Overwritten
from stethoscope.program.settings.program_settings import is_holder
from stethoscope.program.settings.setting_reads import is_told
from stethoscope.program.settings.settings_objects import PARSING
from stethoscope.program.settings.settings_origins import given_kind, last_given
from stethoscope.program.settings.undone_parameters import Undone
from stethoscope.program.syntax import walk
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

_DEFAULTS = frozenset({"default", "defaults"})
# Calls that give a changed copy and leave the settings they are given as they are.
_COPIES = frozenset({"dataclasses.replace", "OmegaConf.merge", "omegaconf.OmegaConf.merge"})
_FLAGS = ("add_argument", "add_subparsers", "(parser", "parser=", "parents=")
_CHANGES = frozenset({"update", "merge_from_list", "merge_from_file", "merge_with", "merge_with_dotlist"})
_TYPED = (*PARSING, "from_cli", "from_dotlist")
_INTO_A_CLASS = frozenset({"cli", "parse", "auto_cli", "CLI"})


@remembered
def lost_overrides(code: Mentions) -> tuple[Undone, ...]:
    """Every place where what was typed or loaded is replaced as a whole, or merged into nothing."""
    return tuple(_lost_overrides(code))


def _lost_overrides(code: Mentions) -> Iterator[Undone]:
    sources = [source for source in code.index.program if not is_test(source)]
    for source in sources:
        yield from _replaced(source.tree.body, source, code)
        yield from _left_for_defaults(source.tree.body, source, code)
        yield from _defaults_win(source, code)
        yield from _file_of_defaults_wins(source, code)
    for function in code.index.functions:
        if not is_test(function.source):
            yield from _replaced(function.node.body, function.source, code)
            yield from _left_for_defaults(function.node.body, function.source, code)


# --- made anew, or made for nobody


def _replaced(body: Sequence[ast.stmt], source: Source, code: Mentions) -> Iterator[Undone]:
    """Settings that one statement of a body makes of what was typed, and a later one without it."""
    made: dict[str, tuple[ast.stmt, set[str]]] = {}
    for statement in _in_order(body):
        changed = _changed(statement)
        if changed in made:
            made[changed] = statement, made[changed][1] | _typed(statement, source, code)
            continue
        name = _settings_made(statement)
        typed = _typed(statement, source, code) if name is not None else set()
        if name in made and _reads(statement, name, code):  # cfg = merge(cfg, ...)
            typed |= made.pop(name)[1]
        for other in list(made):
            if _reads(statement, other, code):
                del made[other]
        if isinstance(statement, ast.Assign) and name is not None:
            before, lost = made.pop(name, (statement, set()))
            if lost - typed:
                told = f"{name} is made anew by {ast.unparse(statement.value)} before anything reads it"
                replaced = Overwritten((name,), statement, statement.value, source, "parsed", told=told)
                yield Undone(replaced, source.where(before))
            made[name] = statement, typed
        elif (copied := _copied(statement, source, code)) is not None:
            told = f"{ast.unparse(statement)} leaves {copied} as it is, and what it gives is not kept"
            replaced = Overwritten((copied,), statement, ast.Name(copied), source, "parsed", told=told)
            yield Undone(replaced, source.where(statement))


def _left_for_defaults(body: Sequence[ast.stmt], source: Source, code: Mentions) -> Iterator[Undone]:
    """Settings that are parsed into an object of a class, while the training gets another one: `Config()`."""
    statements = list(_in_order(body))
    for at, statement in enumerate(statements):
        name, cls = _parsed_into(statement, source, code)
        if cls is None or any(_reads(one, name, code) for one in statements[at + 1 :]):
            continue
        for later in statements[at + 1 :]:
            made = next((node for node in walk(later) if _is_bare(node, cls, source, code)), None)
            if isinstance(made, ast.Call):
                told = (
                    f"{name} is parsed and only told of: {ast.unparse(later).splitlines()[0]} takes defaults"
                )
                replaced = Overwritten((name,), later, made, source, "parsed", told=told)
                yield Undone(replaced, source.where(statement))
                break


def _parsed_into(statement: ast.stmt, source: Source, code: Mentions) -> tuple[str, Class | None]:
    """`cfg = tyro.cli(Config)`: the name, and the class that the command line fills."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func, args=[given, *_])):
            if (dotted(func) or "").rpartition(".")[2] in _INTO_A_CLASS:
                target = code.index.resolve(code.index.module_of(source), dotted(given) or "")
                return name, target if isinstance(target, Class) else None
    return "", None


def _is_bare(node: ast.AST, cls: Class, source: Source, code: Mentions) -> bool:
    """Whether an object of a class is made of nothing but defaults."""
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    return code.index.resolve(code.index.module_of(source), dotted(node.func) or "") is cls


def _changed(statement: ast.stmt) -> str:
    """The settings that a statement changes in place: `cfg.merge_from_list(args.opts)`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
            return name if method in _CHANGES else ""
    return ""


def _in_order(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that always run; what stands in a condition or loop is one statement."""
    for statement in body:
        is_main = isinstance(statement, ast.If) and _asks_for_name(statement.test)
        if isinstance(statement, ast.With) or is_main:
            yield from _in_order(statement.body)  # type: ignore[attr-defined]
        else:
            yield statement


def _asks_for_name(test: ast.expr) -> bool:
    """`__name__ == "__main__"`."""
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in walk(test))


def _settings_made(statement: ast.stmt) -> str | None:
    """The variable called like settings that a statement makes from scratch."""
    if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1):
        return None
    target = statement.targets[0]
    is_one = isinstance(target, ast.Name) and is_holder(target.id) and isinstance(statement.value, ast.Call)
    return target.id if is_one and isinstance(target, ast.Name) else None


def _reads(statement: ast.stmt, name: str, code: Mentions) -> bool:
    """Whether a statement may read a variable for more than to tell of it."""
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and not isinstance(node.ctx, ast.Store)
        and not is_told(node, code)
        for node in walk(statement)
    )


def _typed(value: ast.expr | ast.stmt, source: Source, code: Mentions) -> set[str]:
    """What of the command line an expression is made of: `args.set`, `from_cli()`, `sys.argv`."""
    found: set[str] = set()
    for node in walk(value):
        path = dotted(node) if isinstance(node, ast.Attribute) else None
        if path == "sys.argv":
            found.add(path)
        elif isinstance(node, ast.Call) and _is_typed(node) and not _has_no_flags(source):
            found.add(called(node).rpartition(".")[2])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            made = last_given(node.value, source, code)
            is_parsed = isinstance(made, ast.Call) and called(made).rpartition(".")[2] in PARSING
            is_handed_in = made is None and is_holder(node.value.id) and not code.is_called(node)
            if is_parsed or is_handed_in:
                found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            made = last_given(node, source, code)
            if isinstance(made, ast.Call) and called(made).rpartition(".")[2] in _TYPED:
                parent = code.parents.get(id(node))
                found.update(() if isinstance(parent, ast.Attribute) else {node.id})
    return found


def _has_no_flags(source: Source) -> bool:
    """Whether a parser is made that nothing can be typed for."""
    return "ArgumentParser()" in source.text and not any(word in source.text for word in _FLAGS)


def _is_typed(call: ast.Call) -> bool:
    """Whether a call reads the command line: `parse_args([])` gives the defaults."""
    is_fixed = any(isinstance(argument, ast.List) for argument in call.args)
    return called(call).rpartition(".")[2] in _TYPED and not is_fixed


def _copied(statement: ast.stmt, source: Source, code: Mentions) -> str | None:
    """The settings of which a statement makes a changed copy that nothing is done with."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return None
    call = statement.value
    if not {called(call), _full_name(call, source, code)} & _COPIES or not call.args:
        return None
    name = _last_name(call.args[0])
    return name if is_holder(name) else None


def _full_name(call: ast.Call, source: Source, code: Mentions) -> str:
    found = code.index.resolve(code.index.module_of(source), called(call))
    return str(getattr(found, "name", ""))


def _last_name(node: ast.expr) -> str:
    return str(getattr(node, "id", getattr(node, "attr", "")))


# --- defaults that win


def _defaults_win(source: Source, code: Mentions) -> Iterator[Undone]:
    """`{**given, **defaults}`: every field has a default, so nothing that was given remains."""
    if "**" not in source.text and "update" not in source.text and "|" not in source.text:
        return
    for node in mergings(source.tree):
        for first, then in _merged(node):
            if not _is_all_defaults(then, source, code) or _is_all_defaults(first, source, code):
                continue
            is_given = isinstance(first, ast.Name) and not _is_empty(last_given(first, source, code))
            if isinstance(first, ast.Name) and is_given:
                statement = _statement(node, code)
                told = f"{ast.unparse(then)} takes the place of {first.id}: it has a default for every field"
                replaced = Overwritten((first.id,), statement, then, source, "loaded", told=told)
                yield Undone(replaced, source.where(first))


def _file_of_defaults_wins(source: Source, code: Mentions) -> Iterator[Undone]:
    """`OmegaConf.merge(chosen, defaults)`: what the file of defaults says counts, whatever was chosen."""
    if "default" not in source.text or "load" not in source.text:
        return
    for node in mergings(source.tree):
        for first, then in (*_merged(node), *_last_merged(node)):
            is_order_told = _is_called_default(then) and not _is_called_default(first)
            kinds = {given_kind(one, source, code) for one in (first, then)} if is_order_told else set()
            if kinds != {"loaded"}:
                continue
            told = (
                f"{ast.unparse(then)} is put over {ast.unparse(first)}: of what both say, the default counts"
            )
            replaced = Overwritten(
                (ast.unparse(first),), _statement(node, code), then, source, "loaded", told=told
            )
            yield Undone(replaced, source.where(first))


def _is_called_default(node: ast.expr) -> bool:
    """Whether a variable, or the file that is loaded, is named for defaults."""
    return any(
        _DEFAULTS & set(words(str(getattr(one, "id", getattr(one, "value", "")))))
        for one in walk(node)
        if isinstance(one, ast.Name | ast.Constant)
    )


def _last_merged(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The settings that `OmegaConf.merge` puts over each other, of which the last win."""
    match node:
        case ast.Call(func=ast.Attribute(attr="merge"), args=[_, _, *_] as given, keywords=[]):
            yield from pairwise(given)


def _merged(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Mappings that are put together, and those behind them that win."""
    match node:
        case ast.Dict(keys=keys, values=values) if keys.count(None) > 1:
            poured = [value for key, value in zip(keys, values, strict=True) if key is None]
            yield from pairwise(poured)
        case ast.Call(func=ast.Attribute(value=ast.Name() as into, attr="update"), args=[then], keywords=[]):
            yield into, then
        case ast.BinOp(left=ast.Name() as first, op=ast.BitOr(), right=then):
            yield first, then
        case ast.Call(args=[ast.Name() as first], keywords=[ast.keyword(arg=None, value=then)]):
            if called(node) == "dict":
                yield first, then


def _is_empty(made: ast.expr | None) -> bool:
    """A dict that is only then filled."""
    is_call = isinstance(made, ast.Call) and called(made) in {"dict", "OrderedDict"}
    return (isinstance(made, ast.Dict) and not made.keys) or (
        is_call and isinstance(made, ast.Call) and not made.args and not made.keywords
    )


def _is_all_defaults(value: ast.expr, source: Source, code: Mentions) -> bool:
    """Whether a mapping holds every field of a record, as it is where nobody gave anything."""
    match value:
        case ast.Name():
            made = last_given(value, source, code)
            return made is not None and _is_all_defaults(made, source, code)
        case ast.Call(args=[inner]) if called(value).rpartition(".")[2] in {"asdict", "vars"}:
            return _is_fresh(inner, source, code)
        case ast.Attribute(value=inner, attr="__dict__"):
            return _is_fresh(inner, source, code)
        case ast.DictComp(
            value=part, generators=[ast.comprehension(iter=ast.Call(args=[record]) as over, ifs=[])]
        ) if called(over).rpartition(".")[2] == "fields":
            taken = dotted(part) or ""
            if taken.endswith(".default"):
                return True
            return (
                isinstance(part, ast.Call) and called(part) == "getattr" and _is_fresh(record, source, code)
            )
    return False


def _is_fresh(record: ast.expr, source: Source, code: Mentions) -> bool:
    """Whether a record was made of nothing but its defaults."""
    if isinstance(record, ast.Name):
        made = last_given(record, source, code)
        if made is not None:
            return isinstance(made, ast.Call) and _is_fresh(made, source, code)
        scope = code.scope_of(record)
        function = next((one for one in code.index.functions if one.node is scope), None)
        return (
            function is not None and bool(_DEFAULTS & set(words(record.id))) and _gets_fresh(function, code)
        )
    if not (isinstance(record, ast.Call) and not record.args and not record.keywords):
        return False
    return isinstance(code.index.resolve(code.index.module_of(source), called(record)), Class)


def _gets_fresh(function: Function, code: Mentions) -> bool:
    """Whether some caller hands a function a record that it makes on the spot."""
    given = (
        (argument, spot.source)
        for spot in code.calls.get(function.name, ())
        if isinstance(spot.node, ast.Call)
        for argument in spot.node.args
    )
    return any(isinstance(one, ast.Call) and _is_fresh(one, source, code) for one, source in given)


def _statement(node: ast.expr, code: Mentions) -> ast.stmt:
    inner: ast.AST = node
    while not isinstance(inner, ast.stmt):
        inner = code.parents[id(inner)]
    return inner
