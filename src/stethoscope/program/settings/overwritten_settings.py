"""Settings that are given a value by the code after they were parsed and before anything reads them.

Only what happens on every way through the code counts: a statement straight in the body of the script or
function in which the settings were parsed, or of a function whose only caller hands them in untouched.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, Spot, called, text_of
from stethoscope.program.settings.option import Option
from stethoscope.program.settings.setting_reads import is_told, path_of, reads_setting, touches
from stethoscope.program.settings.settings_origins import (
    DEEPEST,
    origin_of,
    own_maker,
    statement_of,
    statements_before,
)
from stethoscope.program.syntax import FunctionNode, walk
from stethoscope.run import Source, Where


@dataclass(frozen=True, slots=True, eq=False)
class Overwritten:
    """A setting by its path in the settings object, and the statement that replaces it."""

    path: tuple[str, ...]
    statement: ast.stmt
    value: ast.expr
    source: Source
    kind: str  # "parsed" from the command line or "loaded" from a file
    default: ast.expr | None = None  # what the value is where nobody types the flag that it comes from
    told: str = ""  # what happens, where it is more than that one value takes the place of another

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path[-1]

    @property
    def where(self) -> Where:
        """The address of the statement."""
        return self.source.where(self.statement)

    @property
    def is_alone(self) -> bool:
        """Whether the statement does nothing but replace this one setting."""
        if isinstance(self.statement, ast.Assign):
            names = (path[1][-1:] or (path[0],) for t in self.statement.targets if (path := path_of(t)))
            return len(self.statement.targets) == 1 and self.path[-1:] in set(names)
        call = getattr(self.statement, "value", None)
        return isinstance(call, ast.Call) and called(call) == "setattr"

    @property
    def text(self) -> str:
        """The statement as it is written, in one line."""
        return ast.unparse(self.statement)


def overwritten_settings(code: Mentions, names: Iterable[str]) -> Iterator[Overwritten]:
    """Every setting of these names that is replaced before it is read."""
    known = _known(code)
    for name in names:
        if name not in known:
            known[name] = tuple(_of_name(name, code))
        yield from known[name]


@remembered
def _known(code: Mentions) -> dict[str, tuple[Overwritten, ...]]:
    """What was found of each name: many files of settings give the same ones."""
    return {}


def _of_name(name: str, code: Mentions) -> Iterator[Overwritten]:
    for spot in (*code.given.get(name, ()), *code.texts.get(name, ()), *_updated(code).get(name, ())):
        statement = statement_of(spot.node, code)
        if isinstance(statement, ast.Assign | ast.Expr):
            yield from _replaced(name, statement, spot.source, code)


@remembered
def _updated(code: Mentions) -> dict[str, list[Spot]]:
    """The calls of `update` that name a setting by a keyword."""
    found: dict[str, list[Spot]] = {}
    for spot in code.calls.get("update", ()):
        for keyword in spot.node.keywords if isinstance(spot.node, ast.Call) else ():
            if keyword.arg is not None:
                found.setdefault(keyword.arg, []).append(spot)
    return found


def _replaced(
    name: str, statement: ast.Assign | ast.Expr, source: Source, code: Mentions
) -> Iterator[Overwritten]:
    for (holder, path), value in _stores(statement):
        if holder == "self" and path[-1] == name and _is_in_lightning_cli(path, statement, source, code):
            if not reads_setting(value, "self", path, code):
                yield Overwritten(_below_subcommand(path), statement, value, source, "parsed")
            continue
        if holder == "self" and len(path) > 1:
            holder, path = _kept_as(path, statement, source, code)
        if path[-1] != name or holder in {"self", "cls"} or reads_setting(value, holder, path, code):
            continue
        at: ast.stmt = statement
        for _ in range(DEEPEST):
            part = _part_taken(holder, path, at, source, code)
            if part is None:
                break
            holder, path, at = part
        if reads_setting(value, holder, path, code):
            continue
        kind = origin_of(holder, path, at, source, code)
        if kind is not None:
            yield Overwritten(path, statement, value, source, kind)


def _stores(statement: ast.Assign | ast.Expr) -> Iterator[tuple[tuple[str, tuple[str, ...]], ast.expr]]:
    """What a statement stores in parts of a variable: `args.lr = 1`, `cfg["a"]["b"] = 1`, `setattr(...)`."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            path = _bare_path(target)
            if path is not None and path[1]:
                yield path, statement.value
    elif isinstance(statement.value, ast.Call) and called(statement.value) == "setattr":
        given = statement.value.args
        name = text_of(given[1]) if len(given) == 3 else None
        holder = path_of(given[0]) if given else None
        if name is not None and holder is not None:
            yield (holder[0], (*holder[1], name)), given[2]
    elif isinstance(statement.value, ast.Call) and getattr(statement.value.func, "attr", "") == "update":
        into = _bare_path(statement.value.func.value)  # type: ignore[attr-defined]
        for keyword in statement.value.keywords if into is not None else ():  # vars(args).update(lr=1)
            if keyword.arg is not None and into is not None:
                yield (into[0], (*into[1], keyword.arg)), keyword.value


def _bare_path(node: ast.expr) -> tuple[str, tuple[str, ...]] | None:
    """A path with `vars(args)` and `args.__dict__` taken for `args`."""
    keys: list[str] = []
    while isinstance(node, ast.Subscript) and (key := text_of(node.slice)) is not None:
        keys.append(key)
        node = node.value
    if isinstance(node, ast.Call) and called(node) == "vars" and len(node.args) == 1:
        node = node.args[0]
    elif isinstance(node, ast.Attribute) and node.attr == "__dict__":
        node = node.value
    path = path_of(node) if not isinstance(node, ast.Name) else (node.id, ())
    return (path[0], (*path[1], *reversed(keys))) if path is not None else None


def _kept_as(
    path: tuple[str, ...], at: ast.stmt, source: Source, code: Mentions
) -> tuple[str, tuple[str, ...]]:
    """The variable that a method kept as an attribute before: `self.cfg = cfg` and then `self.cfg.lr`."""
    for statement in statements_before(at, source, code) or ():
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name)):
            continue
        if any(path_of(target) == ("self", path[:1]) for target in statement.targets):
            return statement.value.id, path[1:]
    return "self", path


def _is_in_lightning_cli(path: tuple[str, ...], at: ast.stmt, source: Source, code: Mentions) -> bool:
    """Whether a statement stores into what Lightning's command line has parsed, before objects are made."""
    scope, cls = code.scope_of(at), code.class_around(at)
    if path[0] != "config" or getattr(scope, "name", "") != "before_instantiate_classes" or cls is None:
        return False
    if not any(base.rpartition(".")[2] == "LightningCLI" for base in code.index.outside_bases(cls)):
        return False
    before = statements_before(at, source, code)
    return before is not None and not any(touches(one, "self", path, code) for one in before)


def _below_subcommand(path: tuple[str, ...]) -> tuple[str, ...]:
    """The path in the file: `self.config.fit.model.lr` is its `model.lr`."""
    return path[2:] if path[1] in {"fit", "validate", "test", "predict"} else path[1:]


def _part_taken(
    holder: str, path: tuple[str, ...], at: ast.stmt, source: Source, code: Mentions
) -> tuple[str, tuple[str, ...], ast.stmt] | None:
    """The settings that a variable is a section of, `train = cfg["train"]`, if nothing read it since."""
    since: list[ast.stmt] = []
    for statement in reversed(statements_before(at, source, code) or ()):
        made = own_maker(statement, holder)
        if made is None:
            since.append(statement)
            continue
        base = path_of(made)
        if base is None or not base[1]:
            return None
        whole = (*base[1], *path)
        if any(touches(one, *at_, code) for one in since for at_ in ((holder, path), (base[0], whole))):
            return None
        return base[0], whole, statement
    return None


def overwritten_parameters(code: Mentions, options: Iterable[Option]) -> Iterator[Overwritten]:
    """Parameters that are options, and constants that a file may replace, set anew before they are read."""
    functions = {function.qualified: function for function in code.index.functions}
    for option in options:
        for spot in code.given.get(option.name, ()):
            statement = statement_of(spot.node, code)
            if not isinstance(statement, ast.Assign) or spot.source.file != option.where.file:
                continue
            if not any(isinstance(t, ast.Name) and t.id == option.name for t in statement.targets):
                continue
            function = functions.get(option.origin)
            body = function.node.body if function is not None else spot.source.tree.body
            if statement in body and _is_first_use(option, statement, body, code):
                kind = "parsed" if function is not None else "loaded"
                yield Overwritten((option.name,), statement, spot.node, spot.source, kind)


def _is_first_use(option: Option, statement: ast.stmt, body: Sequence[ast.stmt], code: Mentions) -> bool:
    """Whether nothing reads the option before a statement; a constant must have been replaceable by then."""
    before = [other for other in body[: body.index(statement)] if other.lineno > (option.where.line or 0)]
    if option.kind == "constant" and not any(map(_loads, before)):
        return False
    reads = (
        node
        for part in (*before, statement.value if isinstance(statement, ast.Assign) else statement)
        if not isinstance(part, FunctionNode | ast.ClassDef)
        for node in walk(part)
        if isinstance(node, ast.Name) and node.id == option.name and isinstance(node.ctx, ast.Load)
    )
    return all(is_told(node, code) for node in reads)


def _loads(statement: ast.stmt) -> bool:
    """Whether a statement replaces constants of the script: `exec(open("configurator.py").read())`."""
    calls = (called(node) for node in walk(statement) if isinstance(node, ast.Call))
    return any(name in {"exec", "globals.update"} or name.endswith("override") for name in calls)
