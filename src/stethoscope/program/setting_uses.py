"""What a program does with its settings: acts on them, or only prints, logs and saves them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from stethoscope.program.declared_options import (
    HOLDS_OPTIONS,
    Option,
    declared_options,
    field_names,
    is_plain_option_class,
    is_record_class,
)
from stethoscope.program.index import Class, Function, index
from stethoscope.program.settings_tree import HOLDERS
from stethoscope.program.value_flow import ANY, Code, Spot, acts, read_code, spoken_of, taken_by_name
from stethoscope.run import Program, Where

MOST_LINES = 100_000  # of a program; a larger one is not a training but a library with one in it

# Calls whose result is a settings object, and calls that give what a file holds as one. What is done with
# globals() is not followed: scripts with constants at their top gather them so, to print and save them.
_PARSERS = ("parse_args", "parse_known_args", "fromfile", "compose", "parse_args_into_dataclasses")
_LOADERS = ("safe_load", "full_load", "load", "loads")
_LOADS_FILES = re.compile(
    r"\byaml\.(?:safe_load|load|full_load)\(|\bjson\.loads?\(|OmegaConf\.load\(|\bhydra\.main\b|Config\.fromfile\("
    r"|\btomllib\.load|merge_from_file\(|YAML\("
)
_DECLARES = re.compile(r"^(?:add_argument|DEFINE_\w+|add_option|set_defaults)$")


class Use(StrEnum):
    """What becomes of a setting."""

    USED = "used"
    UNUSED = "unused"
    ESCAPED = "escaped"  # it may be used where we cannot look


@dataclass(frozen=True, slots=True)
class Usage:
    """What becomes of one setting: where it acts or escapes, or the places that only mention it."""

    use: Use
    where: Where | None = None
    mentions: tuple[Where, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class SettingUses:
    """What a program does with settings, by name. `reads_files` says that it loads settings files itself.

    `escape` is the place where the settings object as a whole goes somewhere that cannot be followed;
    `loaded_escape` the same of what was loaded from a file, which matters for settings that are no `fields`
    of an option class.
    """

    options: tuple[Option, ...]
    fields: frozenset[str]
    reads_files: bool
    escape: Where | None
    loaded_escape: Where | None
    code: Code

    def of(self, name: str, sections: Sequence[str] = ()) -> Usage:
        """What becomes of the setting of this name, below these sections."""
        mentions = list(_taken(name, self.code))
        for spot in mentions:
            place = acts(spot, self.code)
            if place is not None:
                return Usage(Use.USED, place)
        for spot in _looked_up(name, self.code):
            if acts(spot, self.code) is not None:
                return Usage(Use.ESCAPED, spot.where)
        escape = self.escape or self.code.paths.get(name) or _first_act(sections, self.code)
        if escape is None and name not in self.fields:
            escape = self.loaded_escape
        if escape is not None:
            return Usage(Use.ESCAPED, escape)
        return Usage(Use.UNUSED, mentions=tuple(spot.where for spot in mentions))

    def takes(self, name: str) -> bool:
        """Whether the program takes something of this name out of its settings."""
        spots = taken_by_name(name, self.code)
        return name in self.fields or any(_is_by_text(s) or _is_from_settings(s, self.code) for s in spots)

    def of_constant(self, name: str) -> Usage:
        """What becomes of a module's constant, which is read by its bare name."""
        mentions = self.code.names.get(name, [])
        for spot in mentions:
            place = acts(spot, self.code)
            if place is not None:
                return Usage(Use.USED, place)
        usage = self.of(name)
        if usage.use is not Use.UNUSED:
            return usage
        return Usage(Use.UNUSED, mentions=(*(spot.where for spot in mentions), *usage.mentions))


@lru_cache(maxsize=4)
def setting_uses(program: Program, written: frozenset[str] = frozenset()) -> SettingUses | None:
    """Follow a program's settings; None where it is too large to be followed.

    `written` are the names in the run's settings files: what they are taken out of is the settings object.
    """
    if sum(source.text.count("\n") for source in program) > MOST_LINES:
        return None
    known = index(program)
    options = declared_options(known)
    code = read_code(known, frozenset(option.name for option in options if option.kind == "flag"))
    records = [cls for cls in known.classes if is_record_class(cls, known) or is_plain_option_class(cls)]
    fields = frozenset(name for cls in records for name in field_names(cls))
    names = written | fields | {option.name for option in options}
    reads_files = any(_LOADS_FILES.search(source.text) for source in program)
    escape = _first(acts(spot, code, ANY) for spot in _whole(code, records, names))
    loaded = (spot for name in _LOADERS for spot in code.calls.get(name, ()) if not _is_ours(spot, code))
    loaded_escape = _first(acts(spot, code, ANY) for spot in loaded)
    return SettingUses(options, fields, reads_files, escape, loaded_escape, code)


def _first(places: Iterable[Where | None]) -> Where | None:
    return next((place for place in places if place is not None), None)


def _whole(code: Code, records: Sequence[Class], names: Iterable[str]) -> Iterator[Spot]:
    """Every expression that is the settings object, or a section of it, as a whole.

    That is what a known setting is taken out of, if it is also called like a settings object, and what
    parsers and option classes make.
    """
    holders = {_holder(spot, code) for name in names for spot in taken_by_name(name, code)}
    for name in sorted(
        {name for name, _ in holders if name.lower() in HOLDERS or HOLDS_OPTIONS.search(name)}
    ):
        for spot in code.names.get(name, ()):
            scope = code.scope_of(spot.node)
            if (name, scope) in holders and not _is_handed_in(name, scope, code):
                yield spot
        if (name, None) in holders and name not in code.flags:
            yield from code.attributes.get(name, ())
    for name in (*_PARSERS, *(cls.name for cls in records if HOLDS_OPTIONS.search(cls.name))):
        yield from code.calls.get(name, ())


def _is_handed_in(name: str, scope: ast.AST, code: Code) -> bool:
    """Whether a variable is a parameter that callers in the repository fill; it is followed from there."""
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    spec = scope.args
    if name not in {parameter.arg for parameter in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}:
        return False
    around = code.scope_of(scope)
    called = around.name if scope.name == "__init__" and isinstance(around, ast.ClassDef) else scope.name
    return called in code.calls


def _holder(taken: Spot, code: Code) -> tuple[str, ast.AST | None]:
    """The variable that something is taken out of, and its scope; None as scope for an attribute."""
    node = taken.node
    if isinstance(node, ast.Call):
        node = node.func if isinstance(node.func, ast.Attribute) else node.args[0]
    base = node.value if isinstance(node, ast.Attribute | ast.Subscript) else node
    if isinstance(base, ast.Name):
        return base.id, code.scope_of(base)
    return str(getattr(base, "attr", "")), None


def _taken(name: str, code: Code) -> Iterator[Spot]:
    """Every expression that takes a setting of this name, but no method of the name: `net.train()`."""
    for spot in taken_by_name(name, code):
        if not _is_method_of_other(spot, code):
            yield spot


def _is_method_of_other(taken: Spot, code: Code) -> bool:
    """Whether an attribute is called, of something that is neither `self` nor a settings object."""
    node, parent = taken.node, code.parents.get(id(taken.node))
    if not isinstance(node, ast.Attribute) or not isinstance(parent, ast.Call) or parent.func is not node:
        return False
    is_own = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
    return not is_own and not _is_from_settings(taken, code)


def _is_ours(call: Spot, code: Code) -> bool:
    """Whether a call is one of a function of the repository; what that loads is followed from inside it."""
    func = call.node.func if isinstance(call.node, ast.Call) else None
    if not isinstance(func, ast.Name):
        return False
    return isinstance(code.index.resolve(code.index.module_of(call.source), func.id), Function)


def _is_by_text(taken: Spot) -> bool:
    return not isinstance(taken.node, ast.Attribute)


def _is_from_settings(taken: Spot, code: Code) -> bool:
    """Whether something is taken out of an object that is called, or was made as, a settings object."""
    node: ast.AST = taken.node
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Call):
            node = node.func if isinstance(node.func, ast.Attribute) else next(iter(node.args), node.func)
            continue
        node = node.value
        name = str(getattr(node, "id", getattr(node, "attr", "")))
        if name.lower() in HOLDERS or HOLDS_OPTIONS.search(name) or _is_loaded(name, code):
            return True
    return False


def _is_loaded(name: str, code: Code) -> bool:
    """Whether a variable or attribute is given the result of a loader or parser."""
    loaders = {id(spot.node) for loader in (*_PARSERS, *_LOADERS) for spot in code.calls.get(loader, ())}
    return any(id(part) in loaders for spot in code.given.get(name, ()) for part in ast.walk(spot.node))


def _first_act(sections: Iterable[str], code: Code) -> Where | None:
    """Where a section of the settings as a whole acts."""
    spots = (spot for section in sections for spot in _taken(section, code))
    return _first(acts(spot, code, ANY) for spot in spots)


def _looked_up(name: str, code: Code) -> Iterable[Spot]:
    """Texts of this name that something may be looked up by; the declaration itself is none of them."""
    for spot in spoken_of(name, code):
        parent = code.parents.get(id(spot.node))
        if isinstance(parent, ast.Call):
            called = str(getattr(parent.func, "attr", getattr(parent.func, "id", "")))
            if _DECLARES.match(called):
                continue
        yield spot
