"""What a program's settings are, whatever is written in the run's files: its options, records and holders."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from stethoscope.program.index import Class, Function, dotted, index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.declared_options import (
    HOLDS_OPTIONS,
    declared_options,
    field_names,
    is_plain_option_class,
    is_record_class,
    settings_dicts,
)
from stethoscope.program.settings.mentions import Mentions, Spot, called, mentions, text_of
from stethoscope.program.settings.option import Option
from stethoscope.program.settings.settings_objects import PARSING
from stethoscope.program.settings.settings_tree import HOLDERS
from stethoscope.program.settings.value_flow import Whole
from stethoscope.program.syntax import all_nodes
from stethoscope.run import Program, Where

MOST_LINES = 400_000  # of a program; a larger one is not a training but a library with one in it
# Calls whose result is a settings object, and calls that give what a file holds as one. What is done with
# globals() is not followed: scripts with constants at their top gather them so, to print and save them.
PARSERS = (*PARSING, "fromfile", "compose", "parse_args_into_dataclasses")
LOADERS = ("safe_load", "full_load", "load", "loads")
_LOADS_FILES = re.compile(
    r"\byaml\.(?:safe_load|load|full_load)\(|\bjson\.loads?\(|OmegaConf\.load\(|\bhydra\.main\b|Config\.fromfile\("
    r"|\btomllib\.load|merge_from_file\(|YAML\(|\bDEFINE_config_file\("
)


@remembered
def program_settings(program: Program) -> ProgramSettings | None:
    """What is known of a program's settings; None where it is too large to be followed."""
    if sum(source.text.count("\n") for source in program) > MOST_LINES:
        return None
    known = index(program)
    options = declared_options(known)
    records = tuple(cls for cls in known.classes if is_record_class(cls, known) or is_plain_option_class(cls))
    fields = frozenset(name for cls in records for name in field_names(cls))
    reads_files = any(_LOADS_FILES.search(source.text) for source in program)
    return ProgramSettings(options, records, fields, reads_files, mentions(known))


@dataclass(eq=False)
class ProgramSettings:
    """What is known of a program's settings whatever is written in the run's files, and answers found so far.

    `wholes`, `parts` and `told` are such answers: by origin, by what makes or holds a whole, by name.
    """

    options: tuple[Option, ...]
    records: tuple[Class, ...]
    fields: frozenset[str]
    reads_files: bool
    code: Mentions
    wholes: dict[str, Whole | None] = field(default_factory=dict)
    parts: dict[object, Whole] = field(default_factory=dict)
    told: dict[str, tuple[Sequence[Spot], Sequence[Spot]]] = field(default_factory=dict)
    known: dict[tuple[int, str | None], Where | None] = field(default_factory=dict)

    @cached_property
    def flags(self) -> frozenset[str]:
        """The names of the command line's options."""
        return frozenset(option.name for option in self.options if option.kind == "flag")

    @cached_property
    def tables(self) -> dict[Where, Spot]:
        """The literal dicts called like settings, by the places of their keys."""
        return {
            spot.source.where(key): spot
            for spot in settings_dicts(self.code)
            for key in all_nodes(spot.node, ast.Constant)
        }

    @cached_property
    def siblings(self) -> dict[str, frozenset[str]]:
        """The names of the options of each origin."""
        found: dict[str, set[str]] = {}
        for option in self.options:
            found.setdefault(option.origin, set()).add(option.name)
        return {origin: frozenset(names) for origin, names in found.items()}

    @cached_property
    def functions(self) -> dict[str, Function]:
        """The functions by full name; of two under one name the first."""
        return {function.qualified: function for function in reversed(self.code.index.functions)}

    @cached_property
    def by_name(self) -> dict[str, Class]:
        """The option classes by full name; of two under one name the first."""
        return {cls.qualified: cls for cls in reversed(self.records)}

    @cached_property
    def holding(self) -> dict[str, list[str]]:
        """The option classes that have a field of a name."""
        found: dict[str, list[str]] = {}
        for cls in self.records:
            for name in dict.fromkeys(field_names(cls)):
                found.setdefault(name, []).append(cls.name)
        return found

    @cached_property
    def sections(self) -> dict[str, set[str]]:
        """The classes of the fields, by the fields' names: `optim: OptimConfig`."""
        found: dict[str, set[str]] = {}
        for cls in self.records:
            for field_ in cls.node.body:
                if isinstance(field_, ast.AnnAssign) and isinstance(field_.target, ast.Name):
                    kind = text_of(field_.annotation) or dotted(field_.annotation) or ""
                    found.setdefault(field_.target.id, set()).add(kind.rpartition(".")[2])
        return found

    @cached_property
    def holders(self) -> tuple[Holder, ...]:
        """The variables called like settings that no caller in the repository fills."""
        return tuple(
            Holder(tuple(spots), frozenset(taken))
            for (name, scope), (spots, taken) in _holders(self.code).items()
            if not _is_handed_in(name, scope, self.code) and not _is_config_file(scope, self.code)
        )

    @cached_property
    def loaded(self) -> frozenset[str]:
        """The variables and attributes that are given the result of a loader or parser."""
        found = set()
        for loader in (*PARSERS, *LOADERS):
            for spot in self.code.calls.get(loader, ()):
                node: ast.AST | None = spot.node
                while isinstance(node, ast.expr | ast.keyword):
                    node = self.code.parents.get(id(node))
                for target in node.targets if isinstance(node, ast.Assign) else ():
                    found.add(str(getattr(target, "id", getattr(target, "attr", ""))))
        return frozenset(found - {""})


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """A variable that is called like settings: where it is read, and what is taken directly out of it."""

    spots: tuple[Spot, ...]
    taken: frozenset[str]


@lru_cache(maxsize=65_536)
def is_holder(name: str) -> bool:
    """Whether something is called like a settings object."""
    return name.lower() in HOLDERS or bool(HOLDS_OPTIONS.search(name))


def _holders(code: Mentions) -> dict[tuple[str, ast.AST], tuple[list[Spot], set[str]]]:
    """The variables, by name and scope, that are called like settings, and the names taken from them."""
    found: dict[tuple[str, ast.AST], tuple[list[Spot], set[str]]] = {}
    for name, spots in code.variables():
        if not is_holder(name):
            continue
        for spot in spots:
            held = found.setdefault((name, code.scope_of(spot.node)), ([], set()))
            held[0].append(spot)
            taken = taken_here(spot, code)
            if taken is not None:
                held[1].add(taken)
    return {holder: held for holder, held in found.items() if held[1]}


def taken_here(spot: Spot, code: Mentions) -> str | None:
    """The name that is taken directly out of an expression."""
    parent = code.parents.get(id(spot.node))
    if isinstance(parent, ast.Attribute) and parent.attr in {"get", "pop"} and code.is_called(parent):
        call = code.parents[id(parent)]
        assert isinstance(call, ast.Call)
        return text_of(call.args[0]) if call.args else None
    if isinstance(parent, ast.Attribute):
        return parent.attr
    if isinstance(parent, ast.Subscript) and parent.value is spot.node:
        return text_of(parent.slice)
    if isinstance(parent, ast.Call) and called(parent) == "getattr" and len(parent.args) > 1:
        return text_of(parent.args[1])
    return None


def _is_config_file(scope: ast.AST, code: Mentions) -> bool:
    """Whether a function is what ml_collections reads a file through: it writes settings, and no more."""
    is_read = bool(code.calls.get("DEFINE_config_file"))
    return is_read and isinstance(scope, ast.FunctionDef) and scope.name == "get_config"


def _is_handed_in(name: str, scope: ast.AST, code: Mentions) -> bool:
    """Whether a variable is a parameter that callers in the repository fill; it is followed from there."""
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    spec = scope.args
    if name not in {parameter.arg for parameter in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}:
        return False
    around = code.scope_of(scope)
    by = around.name if scope.name == "__init__" and isinstance(around, ast.ClassDef) else scope.name
    calls = (spot.node for spot in code.calls.get(by, ()) if isinstance(spot.node, ast.Call))
    return any(call.args or call.keywords for call in calls)  # else a decorator fills it
