"""The classes that a parser of arguments is given: `HfArgumentParser((Model, TrainingArguments))`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.program.index import Class, External, Index, Module, Variable, dotted, index
from stethoscope.program.settings.declared_options import field_names
from stethoscope.program.syntax import all_nodes
from stethoscope.run import Program

PARSERS = frozenset({"HfArgumentParser", "TrlParser"})


@dataclass(frozen=True, slots=True)
class ParsedClasses:
    """What one parser takes: the fields of the repository's classes, and classes from outside."""

    own: frozenset[str]
    outside: tuple[str, ...]


@lru_cache(maxsize=4)
def parsed_classes(program: Program) -> tuple[ParsedClasses, ...]:
    """Every parser all of whose classes could be found."""
    known = index(program)
    found = []
    for source in program:
        if any(name in source.text for name in PARSERS):
            home = known.module_of(source)
            found += [_classes(call, home, known) for call in all_nodes(source.tree) if _is_parser(call)]
    return tuple(one for one in found if one is not None)


def _is_parser(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] in PARSERS


def _classes(call: ast.AST, home: Module, known: Index) -> ParsedClasses | None:
    """The classes of one call; None where one of them is not found."""
    assert isinstance(call, ast.Call)
    given = (
        call.args[0]
        if call.args
        else next((k.value for k in call.keywords if k.arg == "dataclass_types"), None)
    )
    if given is None:
        return None
    targets = [known.resolve(home, dotted(node) or "") for node in _listed(given, home, known)]
    own: set[str] = set()
    outside: list[str] = []
    for target in targets:
        if isinstance(target, External):
            outside.append(target.name)
        elif isinstance(target, Class):
            own.update(name for cls in known.lineage(target) for name in field_names(cls))
            outside.extend(base for base in known.outside_bases(target) if base != "object")
        else:
            return None
    return ParsedClasses(frozenset(own), tuple(outside)) if targets else None


def _listed(node: ast.expr, home: Module, known: Index) -> Iterator[ast.expr]:
    if isinstance(node, ast.Tuple | ast.List):
        yield from node.elts
        return
    target = known.resolve(home, node.id) if isinstance(node, ast.Name) else None
    if isinstance(target, Variable) and isinstance(target.value, ast.Tuple | ast.List):
        yield from target.value.elts
    else:
        yield node
