"""What settings a program's own option classes know: dataclasses, structs, models, lists of keys."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from stethoscope.program.index import Class, Index, dotted, index
from stethoscope.program.settings.declared_options import field_names, is_record_class
from stethoscope.run import Program, Source, Where

FEWEST_SHARED = 2  # keys that settings and a class must share to be taken for each other
SHARE = 0.6  # of the settings' keys that the class must know

_KEY_LIST = re.compile(
    r"(?:known|valid|allowed|accepted|expected|supported)_?(?:keys|options|settings|args|params|fields|names)",
    re.IGNORECASE,
)
_CLASS_IN_TEXT = re.compile(r"[\"']((?:\w+\.)+[A-Z]\w*)[\"']")
_OPEN_BASES = frozenset(
    {"TrainingArguments", "Seq2SeqTrainingArguments", "PretrainedConfig", "dict", "UserDict"}
)

_SAYS_OPEN = re.compile(r"""extra\s*=\s*['"]?(?:allow|Extra\.allow)|__setattr__|__getattr__""")


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """The names that a section of the settings may hold; `below` has the schemas of its own sections.

    A name in `names` but not in `below` holds a value or a free-form section. `each` is the schema of every
    element, where the section is a list or maps free names. `derived` are the names that classes derived
    from this one add: a section may be read into any of them.
    """

    title: str
    where: Where
    names: frozenset[str]
    below: Mapping[str, Schema] = field(default_factory=dict)
    each: Mapping[str, Schema] = field(default_factory=dict)
    derived: frozenset[str] = frozenset()

    def knows(self, name: str) -> bool:
        """Whether the section may hold a setting of this name."""
        return name in self.names or name in self.derived


@lru_cache(maxsize=4)
def option_schemas(program: Program) -> tuple[Schema, ...]:
    """Every closed set of option names that a program declares."""
    known = index(program)
    reading = _Reading(known)
    joining = _joining(known)
    classes = [cls for cls in known.classes if is_record_class(cls, known) and not reading.is_open(cls)]
    schemas = (reading.schema(cls) for cls in classes)
    found = [replace(schema, derived=schema.derived | joining) for schema in schemas if schema is not None]
    return (*found, *(schema for source in program for schema in _key_lists(source)))


def _joining(known: Index) -> frozenset[str]:
    """The fields of records that the source names in a text: "plugins.pruning.PruningArgs".

    Who imports one by its name puts it together with others at run time, and nothing here says with which.
    """
    spoken = {name for source in known.program for name in _CLASS_IN_TEXT.findall(source.text)}
    named = (known.named(name) for name in sorted(spoken))
    records = [one for one in named if isinstance(one, Class) and is_record_class(one, known)]
    return frozenset(name for one in records for cls in known.lineage(one) for name in field_names(cls))


def matching(schemas: Sequence[Schema], keys: Collection[str]) -> Schema | None:
    """The schema that knows most of these keys; None where none knows enough of them."""
    best, shared = None, 0
    for schema in schemas:
        count = len(schema.names.intersection(keys))
        if count > shared or (count == shared and best is not None and len(schema.names) < len(best.names)):
            best, shared = schema, count
    enough = shared >= max(FEWEST_SHARED, SHARE * len(keys))
    return best if enough else None


class _Reading:
    """The option classes of one program, each looked at once."""

    def __init__(self, known: Index) -> None:
        self.known = known
        self.heirs: dict[Class, list[Class]] = {}
        for cls in known.classes:
            for ancestor in known.lineage(cls):
                if ancestor is not cls:
                    self.heirs.setdefault(ancestor, []).append(cls)
        self._open: dict[Class, bool] = {}
        self._schemas: dict[Class, Schema | None] = {}

    def is_open(self, cls: Class) -> bool:
        """Whether a class takes any key: it says so, has a constructor that does, or a base we cannot see."""
        if cls not in self._open:
            bases = {base.rpartition(".")[2] for base in self.known.outside_bases(cls)}
            self._open[cls] = bool(bases & _OPEN_BASES) or any(map(_takes_any, self.known.lineage(cls)))
        return self._open[cls]

    def schema(self, cls: Class) -> Schema | None:
        """A class with its bases, and the sections that its fields are; None inside of itself."""
        if cls not in self._schemas:
            self._schemas[cls] = None
            self._schemas[cls] = self._schema(cls)
        return self._schemas[cls]

    def _schema(self, cls: Class) -> Schema:
        lineage, heirs = self.known.lineage(cls), self.heirs.get(cls, [])
        below: dict[str, Schema] = {}
        each: dict[str, Schema] = {}
        for member in (*lineage, *heirs):
            for name, (inner, many) in _sections(member, self.known).items():
                schema = self.schema(inner) if not self.is_open(inner) else None
                if schema is not None:
                    (each if many else below)[name] = schema
        names = frozenset(name for member in lineage for name in field_names(member))
        derived = frozenset(name for member in heirs for name in field_names(member))
        return Schema(cls.name, cls.source.where(cls.node), names, below, each, derived)


def _takes_any(cls: Class) -> bool:
    constructor = cls.methods.get("__init__")
    if constructor is not None and constructor.node.args.kwarg is not None:
        return True
    return bool(_SAYS_OPEN.search(cls.source.text) and _SAYS_OPEN.search(ast.unparse(cls.node)))


def _sections(cls: Class, known: Index) -> dict[str, tuple[Class, bool]]:
    """The fields whose type is another record, and whether they hold many of it."""
    home = known.module_of(cls.source)
    found: dict[str, tuple[Class, bool]] = {}
    for statement in cls.node.body:
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        candidates = []
        for name, many in _types(statement.annotation):
            target = known.resolve(home, name)
            if isinstance(target, Class) and is_record_class(target, known):
                candidates.append((target, many))
        if len(candidates) == 1:  # of two records, which one is read is decided at run time
            found[statement.target.id] = candidates[0]
    return found


def _types(annotation: ast.expr, many: bool = False) -> Iterator[tuple[str, bool]]:
    """The class names in an annotation, each with whether it stands inside a list or mapping."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            yield from _types(ast.parse(annotation.value, mode="eval").body, many)
        except SyntaxError:
            return
    elif isinstance(annotation, ast.BinOp):
        yield from _types(annotation.left, many)
        yield from _types(annotation.right, many)
    elif isinstance(annotation, ast.Subscript):
        outer = (dotted(annotation.value) or "").rpartition(".")[2].lower()
        inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        if outer in {"annotated", "classvar"}:
            inner = inner[:1]
        holds_many = many or outer in {"list", "dict", "tuple", "sequence", "mapping", "set"}
        for part in inner:
            yield from _types(part, holds_many)
    elif (name := dotted(annotation)) is not None:
        yield name, many


def _key_lists(source: Source) -> Iterator[Schema]:
    """`KNOWN_KEYS = {"lr", "epochs"}`: a list of names that settings are checked against."""
    for statement in source.tree.body:
        if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
            continue
        name = statement.targets[0].id
        if not _KEY_LIST.search(name):
            continue
        value = statement.value
        if isinstance(value, ast.Call) and value.args:  # frozenset({...})
            value = value.args[0]
        if isinstance(value, ast.Set | ast.List | ast.Tuple):
            texts = [e.value for e in value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            if len(texts) == len(value.elts) and texts:
                yield Schema(name, source.where(statement), frozenset(texts))
