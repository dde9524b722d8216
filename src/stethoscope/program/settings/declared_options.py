"""The options a program declares: command-line flags, fields of option classes, literal dicts, constants."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stethoscope.program.index import Class, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, Spot, mentions
from stethoscope.program.settings.option import Option, literal
from stethoscope.program.settings.parameter_options import parameter_options
from stethoscope.run import Source

# A class or variable that holds options, by its name.
HOLDS_OPTIONS = re.compile(
    r"(?:^|_|[a-z])(?:config|cfg|conf|options?|opts?|args|arguments|params|parameters|hparams|hps|hp|settings|flags"
    r"|hyper_?parameters|hyper_?params)$",
    re.IGNORECASE,
)
FEWEST_SECTIONS = 2  # of a tree of settings that is not called one
ABSL = "absl"  # whose flags are one object for the whole program
_CLASS_PARSERS = ("cli", "HfArgumentParser", "TrlParser", "parse", "entrypoint", "structured")
_TRAINER = re.compile(r"\bTrainer\(")


@remembered
def declared_options(index: Index) -> tuple[Option, ...]:
    """Every option of a program, in the order of its files."""
    code = mentions(index)
    found = [*_flags(code), *_dicts(code), *parameter_options(code)]
    for source in index.program:
        if _trains(source.text):
            found.extend(_constants(source))
    for cls in _option_classes(code):
        if not _names_its_target(cls, index):
            found.extend(_fields(cls))
    order = {source.file: place for place, source in enumerate(index.program)}
    return tuple(sorted(found, key=lambda option: (order[option.where.file], option.where.line or 0)))


def _trains(text: str) -> bool:
    # A word is found much faster than a pattern, and most files have none of them.
    if ".backward(" in text or ".fit(" in text:
        return True
    return "Trainer(" in text and bool(_TRAINER.search(text))


def _option_classes(code: Mentions) -> list[Class]:
    """The classes that are called like options, those that are parsed, and the sections of both."""
    index = code.index
    found = {
        cls.qualified: cls
        for cls in index.classes
        if is_option_class(cls, index) or is_plain_option_class(cls) or _is_root(cls, index)
    }
    waiting = [*found.values(), *_parsed(code)]
    while waiting:
        cls = waiting.pop()
        found[cls.qualified] = cls
        home = index.module_of(cls.source)
        for statement in cls.node.body:
            if isinstance(statement, ast.AnnAssign):
                section = index.resolve(home, dotted(statement.annotation) or "")
                if not isinstance(section, Class) or section.qualified in found:
                    continue
                if is_record_class(section, index):
                    waiting.append(section)
    return list(found.values())


def _parsed(code: Mentions) -> Iterator[Class]:
    """The records that `tyro.cli(Args)` and its likes fill from the command line."""
    for name in _CLASS_PARSERS:
        for spot in code.calls.get(name, ()):
            assert isinstance(spot.node, ast.Call)
            for given in spot.node.args[:1]:
                for part in given.elts if isinstance(given, ast.Tuple | ast.List) else [given]:
                    target = code.index.resolve(code.index.module_of(spot.source), dotted(part) or "")
                    if isinstance(target, Class) and is_record_class(target, code.index):
                        yield target


def is_option_class(cls: Class, index: Index) -> bool:
    """Whether a class is a record of options: by its name, and as a dataclass, struct or model."""
    return bool(HOLDS_OPTIONS.search(cls.name)) and is_record_class(cls, index)


def is_plain_option_class(cls: Class) -> bool:
    """Whether a class is nothing but a list of constants: `class CFG: lr = 1e-3`."""
    return (
        bool(HOLDS_OPTIONS.search(cls.name))
        and not cls.methods
        and not cls.bases
        and len(field_names(cls)) > 1
    )


def _is_root(cls: Class, index: Index) -> bool:
    """Whether a record holds nothing but sections of defaults: such a tree is one of settings."""
    home = index.module_of(cls.source)
    sections = [
        index.resolve(home, dotted(statement.annotation) or "")
        for statement in cls.node.body
        if isinstance(statement, ast.AnnAssign)
    ]
    if len(sections) < FEWEST_SECTIONS or not is_record_class(cls, index):
        return False
    return all(
        isinstance(section, Class) and is_record_class(section, index) and _has_defaults(section)
        for section in sections
    )


def _has_defaults(cls: Class) -> bool:
    fields = [statement for statement in cls.node.body if isinstance(statement, ast.AnnAssign)]
    return bool(fields) and all(field.value is not None for field in fields)


def is_record_class(cls: Class, index: Index) -> bool:
    """Whether a class is a dataclass, an attrs class, a msgspec struct or a pydantic model."""
    decorators = (node.func if isinstance(node, ast.Call) else node for node in cls.node.decorator_list)
    names = {(dotted(node) or "").rpartition(".")[2] for node in decorators}
    if names & {"dataclass", "define", "frozen", "attrs", "s", "configclass", "chz", "dataclasses"}:
        return True
    bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
    return bool(bases & {"Struct", "BaseModel", "BaseSettings", "NamedTuple", "TypedDict"})


def _names_its_target(cls: Class, index: Index) -> bool:
    """Whether Hydra makes something else of a record: its fields are the arguments of that."""
    return any("_target_" in field_names(one) for one in index.lineage(cls))


def field_names(cls: Class) -> tuple[str, ...]:
    """The names of a record's own fields."""
    return tuple(name for name, _ in _assigned(cls))


def _assigned(cls: Class) -> Iterator[tuple[str, ast.Assign | ast.AnnAssign]]:
    """The fields of a class: annotated names, and in a list of constants plain ones."""
    annotated = any(isinstance(statement, ast.AnnAssign) for statement in cls.node.body)
    for statement in cls.node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if "ClassVar" not in ast.unparse(statement.annotation):
                yield statement.target.id, statement
        elif (
            isinstance(statement, ast.Assign) and not annotated and isinstance(statement.targets[0], ast.Name)
        ):
            yield statement.targets[0].id, statement


def _flags(code: Mentions) -> Iterator[Option]:
    """Every flag that a parser is told of."""
    names = {"add_argument", "add_option", *(name for name in code.calls if name.startswith("DEFINE_"))}
    for name in sorted(names):
        for spot in code.calls.get(name, ()):
            assert isinstance(spot.node, ast.Call)
            yield from _flag(spot.node, name, spot.source, code)
    for spot in code.attributes.get("add_argument", ()):  # add = parser.add_argument
        around = code.parents.get(id(spot.node))
        if isinstance(around, ast.Assign) and isinstance(around.targets[0], ast.Name):
            for call in code.calls.get(around.targets[0].id, ()):
                if call.source is spot.source and isinstance(call.node, ast.Call):
                    yield from _flag(call.node, "add_argument", call.source, code)


def _flag(call: ast.Call, name: str, source: Source, code: Mentions) -> Iterator[Option]:
    """`parser.add_argument("--name", ...)` and absl's likes."""
    texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if not texts:
        return
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if name in {"add_argument", "add_option"}:
        longest = next((text for text in texts if text.startswith("--")), texts[0])
        target = literal(given.get("dest")) or longest.lstrip("-").replace("-", "_")
        default = _default(given.get("default"), code)
        if literal(given.get("action")) in {"store_true", "store_false"} and "default" not in given:
            default = literal(given.get("action")) == "store_false"
        if literal(given.get("action")) not in {"help", "version"}:
            yield Option(str(target), source.where(call), "flag", default, origin=source.file)
    elif len(call.args) > 1:
        yield Option(texts[0], source.where(call), "flag", literal(call.args[1]), origin=ABSL)


def _default(value: ast.expr | None, code: Mentions) -> object:
    """What stands behind `default=`: written out, or a constant that the program gives once."""
    if not isinstance(value, ast.Name):
        return literal(value)
    spots = code.given.get(value.id, ())
    return literal(spots[0].node) if len(spots) == 1 and isinstance(spots[0].node, ast.Constant) else None


def _dicts(code: Mentions) -> Iterator[Option]:
    """The entries of every literal dict that is called like settings."""
    for spot in settings_dicts(code):
        assert isinstance(spot.node, ast.Dict)
        yield from _of_dict(spot.node, (), spot.source)


def settings_dicts(code: Mentions) -> Iterator[Spot]:
    """Every literal dict that is called like settings."""
    for name in [name for name in code.given if HOLDS_OPTIONS.search(name)]:
        yield from (spot for spot in code.given[name] if isinstance(spot.node, ast.Dict))


def _of_dict(table: ast.Dict, sections: tuple[str, ...], source: Source) -> Iterator[Option]:
    for key, value in zip(table.keys, table.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            continue
        if isinstance(value, ast.Dict) and value.keys:
            yield from _of_dict(value, (*sections, key.value), source)
        elif isinstance(value, ast.Constant | ast.UnaryOp | ast.List | ast.Tuple):
            # A computed entry is a record of something, not an option.
            yield Option(key.value, source.where(key), "entry", literal(value), sections)


def _constants(source: Source) -> Iterator[Option]:
    """`grad_clip = 1.0` at the top of a training script."""
    for statement in source.tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Constant):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name) and not target.id.startswith("_"):
                    yield Option(target.id, source.where(statement), "constant", statement.value.value)


def _fields(cls: Class) -> Iterator[Option]:
    for name, statement in _assigned(cls):
        yield Option(
            name, cls.source.where(statement), "field", _field_default(statement.value), origin=cls.qualified
        )


def _field_default(value: ast.expr | None) -> object:
    if isinstance(value, ast.Call):
        return next((literal(keyword.value) for keyword in value.keywords if keyword.arg == "default"), None)
    return literal(value)
