"""Where the objects that hold settings come from: parsers, option classes, functions that get them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stethoscope.program.index import Class, dotted
from stethoscope.program.settings.declared_options import field_names
from stethoscope.program.settings.imported_files import imported_files
from stethoscope.program.settings.mentions import Mentions, Spot, called
from stethoscope.program.settings.parsed_classes import PARSERS

PARSING = ("parse_args", "parse_known_args", "parse_intermixed_args")
_INTO_CLASSES = (
    *("parse_args_into_dataclasses", "parse_args_and_config", "parse_json_file", "parse_yaml_file"),
    "parse_dict",
)

# Bases that read only fields of their own, or none at all.
_PLAIN_BASES = re.compile(
    r"(?:^|\.)(?:object|ABC|Protocol|Generic|Struct|BaseModel|BaseSettings|NamedTuple|TypedDict"
    r"|(?:Seq2Seq)?TrainingArguments)$"
)

# Bases that have no methods of their own.
_BARE_BASES = re.compile(r"(?:^|\.)(?:object|ABC|Protocol|Generic)$")


def parsed_flags(file: str, code: Mentions) -> list[Spot]:
    """The calls that parse the flags which a file declares; none where they fill an object they are given."""
    spots = [
        spot
        for name in PARSING
        for spot in code.calls.get(name, ())
        if file == spot.source.file or file in imported_files(code.index, spot.source)
    ]
    return [] if any(_fills_an_object(spot.node) for spot in spots) else spots


def _fills_an_object(call: ast.expr) -> bool:
    assert isinstance(call, ast.Call)
    return len(call.args) > 1 or any(keyword.arg in {"namespace", None} for keyword in call.keywords)


def absl_flags(code: Mentions) -> Iterator[Spot]:
    """Every mention of the object that absl keeps all flags in."""
    yield from code.names("FLAGS")
    yield from code.attributes.get("FLAGS", ())


def flag_holders(name: str, code: Mentions) -> Iterator[Spot]:
    """`_LR = flags.DEFINE_float("lr", ...)`: what such calls give holds the flag as its `value`."""
    for spot in code.texts.get(name, ()):
        call = code.parents.get(id(spot.node))
        if isinstance(call, ast.Call) and called(call).rpartition(".")[2].startswith("DEFINE_"):
            yield Spot(call, spot.source)


def objects_of(cls: Class, code: Mentions) -> Iterator[Spot]:
    """Every expression that is, or gives, an object of a class or of one derived from it."""
    index = code.index
    heirs = [one for one in index.classes if one is cls or (one.bases and cls in index.lineage(one))]
    for heir in heirs:
        yield from (spot for spot in _objects(heir, code) if _may_be(spot, heir, code))
    for kin in {id(one): one for heir in heirs for one in index.lineage(heir)}.values():
        for spot in code.names_in(kin.source, "self"):
            if code.class_around(spot.node) is kin:
                yield spot


def _may_be(spot: Spot, cls: Class, code: Mentions) -> bool:
    """Whether an expression may be an object of a record: not if a method is called that it does not have.

    A trainer's `lr_scheduler` is called like the section of settings that it is made from.
    """
    part = code.parents.get(id(spot.node))
    if not (
        isinstance(spot.node, ast.Attribute) and isinstance(part, ast.Attribute) and code.is_called(part)
    ):
        return True
    if any(not _BARE_BASES.search(base) for base in code.index.outside_bases(cls)):
        return True
    return (
        part.attr.startswith("_")
        or code.index.method(cls, part.attr) is not None
        or part.attr in {name for one in code.index.lineage(cls) for name in field_names(one)}
    )


def is_made_by_hand(cls: Class, code: Mentions) -> bool:
    """Whether every object of a class is made by a call that says what goes into it: `Shape(width)`."""
    for spot in _mentioned(cls, code):
        parent = code.parents.get(id(spot.node))
        if isinstance(parent, ast.arg | ast.AnnAssign | ast.Constant):
            continue  # an annotation
        if not (isinstance(parent, ast.Call) and parent.func is spot.node):
            return False
        if any(isinstance(arg, ast.Starred) for arg in parent.args):
            return False
        if any(word.arg is None for word in parent.keywords):
            return False
    return not any(code.is_called(spot.node) for spot in code.names_in(cls.source, "cls"))


def reading_base(cls: Class, code: Mentions) -> bool:
    """Whether a class has a base outside the repository that may read the fields of its heirs."""
    return not all(_PLAIN_BASES.search(base) for base in code.index.outside_bases(cls))


def _objects(cls: Class, code: Mentions) -> Iterator[Spot]:
    for spot in _mentioned(cls, code):
        yield from _object_at(spot, cls, code)
    for spot in code.names_in(cls.source, "cls"):  # return cls(**values)
        if code.is_called(spot.node) and code.class_around(spot.node) is cls:
            yield Spot(code.parents[id(spot.node)], spot.source)  # type: ignore[arg-type]


def _mentioned(cls: Class, code: Mentions) -> Iterator[Spot]:
    """Every place that names a class, in quotes too."""
    index = code.index
    for spot in (*code.names(cls.name), *code.attributes.get(cls.name, ())):
        target = index.resolve(index.module_of(spot.source), dotted(spot.node) or "")
        if target is cls or target is None:
            yield spot
    for spot in code.texts.get(cls.name, ()):
        if isinstance(code.parents.get(id(spot.node)), ast.arg | ast.AnnAssign):
            yield spot


def _object_at(spot: Spot, cls: Class, code: Mentions) -> Iterator[Spot]:
    """The object that the mention of its class speaks of."""
    node: ast.AST = spot.node
    parent = code.parents.get(id(node))
    while isinstance(parent, ast.Subscript | ast.BinOp | ast.Tuple) and not _is_value(parent, code):
        node, parent = parent, code.parents.get(id(parent))
    if isinstance(parent, ast.arg):
        yield from _parameter(parent, spot, code)
    elif isinstance(parent, ast.AnnAssign) and parent.annotation is node:
        yield from _annotated(parent, spot, code)
    elif isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return  # what a function returns is made somewhere; a base makes nothing
    elif isinstance(parent, ast.Call) and parent.func is node:
        yield Spot(parent, spot.source)
    elif isinstance(parent, ast.Attribute) and code.is_called(parent):  # Config.load(path)
        yield Spot(code.parents[id(parent)], spot.source)  # type: ignore[arg-type]
    else:
        yield from _given_away(spot, cls, code)


def _is_value(node: ast.AST, code: Mentions) -> bool:
    """Whether a row or an index is computed with, and not part of an annotation."""
    while isinstance(node, ast.Subscript | ast.BinOp | ast.Tuple):
        parent = code.parents.get(id(node))
        if isinstance(parent, ast.arg) or (isinstance(parent, ast.AnnAssign) and parent.annotation is node):
            return False
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and parent.returns is node:
            return False
        assert parent is not None
        node = parent
    return True


def _parameter(parameter: ast.arg, spot: Spot, code: Mentions) -> Iterator[Spot]:
    scope = code.parents.get(id(code.parents.get(id(parameter))))  # through `arguments`
    for read in code.names_in(spot.source, parameter.arg):
        if scope is not None and code.is_within(read.node, scope):
            yield read


def _annotated(statement: ast.AnnAssign, spot: Spot, code: Mentions) -> Iterator[Spot]:
    """`optim: OptimConfig` in another class, or of a variable or attribute."""
    target, scope = statement.target, code.scope_of(statement)
    if isinstance(target, ast.Attribute) or isinstance(scope, ast.ClassDef):
        yield from code.attributes.get(str(getattr(target, "attr", getattr(target, "id", ""))), ())
    elif isinstance(target, ast.Name):
        reads = code.names(target.id) if isinstance(scope, ast.Module) else ()
        yield from reads or code.names_in(spot.source, target.id)


def _given_away(spot: Spot, cls: Class, code: Mentions) -> Iterator[Spot]:
    """A class that is handed to something: a parser gives objects of it, a field makes them."""
    node: ast.AST = spot.node
    parent = code.parents.get(id(node))
    while isinstance(parent, ast.Tuple | ast.List | ast.keyword):
        node, parent = parent, code.parents.get(id(parent))
    if not isinstance(parent, ast.Call):
        yield spot
        return
    name = called(parent).rpartition(".")[2]
    if name in PARSERS:
        yield from _parsed(parent, spot, code)
    elif name not in {"field", "Field", "isinstance", "issubclass", "fields", "cast"}:
        yield Spot(parent, spot.source)


def _parsed(parser: ast.Call, spot: Spot, code: Mentions) -> Iterator[Spot]:
    """What `HfArgumentParser((A, B))` gives as the object of one of its classes."""
    row = parser.args[0] if parser.args else parser
    classes = row.elts if isinstance(row, ast.Tuple | ast.List) else [row]
    place = next((i for i, node in enumerate(classes) if node is spot.node), 0)
    for name in _INTO_CLASSES:
        for call in code.calls.get(name, ()):
            if call.source is not spot.source:
                continue
            around = code.parents.get(id(call.node))
            target = around.targets[0] if isinstance(around, ast.Assign) else None
            if isinstance(around, ast.Subscript) and isinstance(around.slice, ast.Constant):
                if around.slice.value == place:
                    yield Spot(around, call.source)
            elif isinstance(target, ast.Tuple | ast.List) and len(target.elts) >= len(classes):
                variable = target.elts[place]
                scope = code.scope_of(call.node)
                if isinstance(variable, ast.Name):
                    for read in code.names_in(call.source, variable.id):
                        if code.is_within(read.node, scope):
                            yield read
            else:
                yield call
