"""Python files that hold settings: assignments, dicts, classes of constants, `get_config()`, `_base_` files.

_base_ = ["../_base_/default.py"]          batch_size = 12
optimizer = dict(lr=1e-4 * 8)              gradient_accumulation_steps = 5 * 8

The text is parsed and computed as far as literals, simple arithmetic and names assigned above go; nothing is
executed. What depends on anything else is unknown.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from stethoscope.errors import UnreadableFile
from stethoscope.recipe._files import Files, Opened
from stethoscope.recipe._python.constants import Names, called_name
from stethoscope.recipe._python.module import (
    MAKES_SETTINGS,
    Import,
    is_record,
    nothing_imported,
    run_statements,
)
from stethoscope.recipe._python.spans import Spans
from stethoscope.recipe._text import MAX_SETTINGS, Text
from stethoscope.recipe._tree import Node, Section, TooMuch, at, is_mapping, merged, settings_of, without
from stethoscope.run import Setting, Where

SYNTAX = "python"
ENDINGS = (".py",)

# A variable that is the settings as a whole; what it holds is named without it.
_WHOLE = re.compile(
    r"^_?(?:config|cfg|conf|(?<=_)C|opts?|options|args|params|hparams|hps|settings|hyper_?params)$", re.I
)
# A file whose statements are nothing but these holds settings and no program.
_DECLARES = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom, ast.ClassDef, ast.Delete)
_CALLS = frozenset({"update", "merge", "append", "extend", "insert", "pop", "setdefault", "print", "freeze"})
_FEWEST = 2  # values below which a file is not called settings by its content
_UP = 4  # folders above a settings file in which a module that it imports is looked for


def read(text: str, file: str, first_line: int = 1) -> tuple[Setting, ...]:
    """Every value that a Python text assigns."""
    source = Text(text, file, first_line)
    return _settings(source, lambda: _module(source, _parsed(source), None, nothing_imported))


def read_file(opened: Opened, files: Files) -> tuple[Setting, ...]:
    """The values of a file together with those of the files it builds on."""
    source = Text(opened.text, opened.file)
    return _settings(source, lambda: _composed(opened, files, ()))


def looks_like_settings(text: str) -> bool:
    """Whether a Python text holds settings and no program: assignments, records, or `get_config()`."""
    try:
        tree = _parsed(Text(text, ""))
    except UnreadableFile:
        return False
    makers = [s for s in tree.body if isinstance(s, ast.FunctionDef)]
    if makers:
        return all(MAKES_SETTINGS.match(maker.name) for maker in makers)
    assigned = [s for s in tree.body if isinstance(s, ast.Assign | ast.AnnAssign)]
    records = [s for s in tree.body if isinstance(s, ast.ClassDef)]
    if not all(is_record(cls) for cls in records) or not len(assigned) + 2 * len(records) >= _FEWEST:
        return False
    return all(isinstance(s, _DECLARES) or _is_said(s) or _is_of_settings(s) for s in tree.body)


def _is_said(statement: ast.stmt) -> bool:
    """A docstring, or a call such as `cfg.update(...)` and `print(...)`."""
    if not isinstance(statement, ast.Expr):
        return False
    said = statement.value
    calls = isinstance(said, ast.Call) and called_name(said.func).rpartition(".")[2] in _CALLS
    return calls or isinstance(said, ast.Constant)


def _is_of_settings(statement: ast.stmt) -> bool:
    """`with read_base():`, `if flag:` and `for` around assignments."""
    if not isinstance(statement, ast.With | ast.If | ast.For):
        return False
    main = isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test)
    return not main and all(isinstance(s, _DECLARES) or _is_said(s) for s in statement.body)


def _settings(source: Text, compute: Callable[[], Names]) -> tuple[Setting, ...]:
    try:
        found = tuple(settings_of(_named_as_used(compute())))
    except (TooMuch, RecursionError, MemoryError):
        raise source.too_deep() from None
    if len(found) > MAX_SETTINGS:
        raise source.too_many()
    return found


def _parsed(source: Text) -> ast.Module:
    try:
        with warnings.catch_warnings():  # "\d" in someone's string is not our business
            warnings.simplefilter("ignore")
            return ast.parse(source.text)
    except SyntaxError as problem:
        line = (problem.lineno or 1) + source.first_line - 1
        raise UnreadableFile(f"{source.file}: not valid Python: line {line}: {problem.msg}") from None
    except (ValueError, RecursionError, MemoryError) as problem:
        said = str(problem) or "nested too deep"
        raise UnreadableFile(f"{source.file}: not valid Python: {said}") from None


def _module(source: Text, tree: ast.Module, base: Node | None, imported: Import) -> Names:
    """The names of a module once all its statements were followed."""
    names = Names(base=base)
    if base is not None and not isinstance(base, Section):
        names.base = None
    run_statements(tree.body, names, Spans(source), imported)
    return names


def _composed(opened: Opened, files: Files, above: tuple[Path, ...]) -> Names:
    """A file on top of its `_base_` files, as mmengine joins them."""
    if opened.path in above:
        raise UnreadableFile(f"{opened.file}: builds on itself by way of {above[-1].name}")
    within = (*above, opened.path)
    source = Text(opened.text, opened.file)
    tree = _parsed(source)
    base: Node | None = None
    for name in _bases(tree):
        below = _composed(files.beside(opened, name), files, within)
        section = _as_section(below, opened)
        base = section if base is None else merged(base, section)
    names = _module(source, tree, base, _importer(opened, files, within))
    names.values.pop("_base_", None)
    if base is not None:
        joined = _joined(base, _as_section(names, opened))
        assert isinstance(joined, Section)
        names.values = {str(name): node for name, node in joined.items.items()}
    return names


def _as_section(names: Names, opened: Opened) -> Section:
    return Section(dict[str | int, Setting | Section](names.values.items()), where=Where(opened.file))


def _bases(tree: ast.Module) -> list[str]:
    """The files named by `_base_`; one computed from anything but texts is none we can open."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "_base_" for target in statement.targets
        ):
            value = statement.value
            parts = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
            return [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
    return []


def _joined(base: Node, over: Node) -> Node:
    """Mappings key by key; one that says `_delete_` replaces what it builds on."""
    if not (isinstance(over, Section) and not over.is_list):
        return merged(base, over)
    if (said := at(over, ("_delete_",))) is not None:
        over = without(over, ("_delete_",))
        assert isinstance(over, Section)
        if isinstance(said, Setting) and said.value is True:
            return Section({name: _cleared(node) for name, node in over.items.items()}, False, over.where)
    if not is_mapping(base):
        return Section({name: _cleared(node) for name, node in over.items.items()}, False, over.where)
    items: dict[str | int, Node] = dict(base.items) if isinstance(base, Section) else {}
    for name, node in over.items.items():
        items[name] = _joined(items[name], node) if name in items else _cleared(node)
    return Section(items, False, over.where)


def _cleared(node: Node) -> Node:
    """A section without the marks that only matter where it is joined to another."""
    if not isinstance(node, Section) or node.is_list:
        return node
    kept = {name: _cleared(below) for name, below in node.items.items() if name != "_delete_"}
    return replace(node, items=kept)


def _importer(opened: Opened, files: Files, within: tuple[Path, ...]) -> Import:
    """Gives the names of the settings files that a file imports, where they lie near it."""

    def imported(level: int, module: str) -> dict[str, Node] | None:
        steps = range(level, level + 1) if level else range(1, _UP + 2)
        for up in steps:
            name = os.path.join(*[os.pardir] * (up - 1), *module.split(".")) + ".py"
            if not module or not (opened.path.parent / name).is_file():
                continue
            other = files.beside(opened, name)
            if not looks_like_settings(other.text):
                return None
            names = _composed(other, files, within)
            return {**names.values, **names.records}
        return None

    return imported


def _named_as_used(names: Names) -> Node:
    """The settings under the names that a program takes them by.

    What a variable such as `config` holds, what `get_config()` returns and the fields of a class that no
    other class holds are named without it, unless two would then share a name.
    """
    top: dict[str | int, Node] = {}
    wholes: list[tuple[str, Node]] = []
    for name, node in names.values.items():
        if name.startswith("__"):
            continue
        if _WHOLE.match(name) and isinstance(node, Section) and not node.is_list:
            wholes.append((name, node))
        elif not name.startswith("_"):
            top[name] = node
    returned = [(name, node) for name, node in names.records.items() if MAKES_SETTINGS.match(name)]
    if returned and not top:
        wholes = returned[-1:]
    else:
        wholes += _outermost(names)
    for name, node in wholes:
        assert isinstance(node, Section)
        clash = any(part in top for part in node.items)
        top.update({name: node} if clash else node.items)
    return Section(top)


def _outermost(names: Names) -> list[tuple[str, Node]]:
    """The classes that are no section of another and that nothing was made of."""
    records = [(name, node) for name, node in names.records.items() if name not in names.held]
    return [(name, node) for name, node in records if isinstance(node, Section) and node.items]
