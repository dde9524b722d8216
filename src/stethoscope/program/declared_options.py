"""The options a program declares: command-line flags, fields of option classes, literal dicts, constants."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Index, dotted
from stethoscope.run import Source, Where

# A class or variable that holds options, by its name.
HOLDS_OPTIONS = re.compile(
    r"(?:^|_|[a-z])(?:config|cfg|conf|options?|opts?|args|arguments|params|parameters|hparams|hps|hp|settings|flags"
    r"|hyper_?parameters|hyper_?params)$",
    re.IGNORECASE,
)
_TRAINS = re.compile(r"\.backward\(|\bTrainer\(|\.fit\(")


@dataclass(frozen=True, slots=True)
class Option:
    """An option as declared: its name, the sections around it, where, and its default (None where unknown).

    `kind` is "flag", "field", "entry" (of a literal dict) or "constant".
    """

    name: str
    where: Where
    kind: str
    default: object = None
    sections: tuple[str, ...] = ()


def declared_options(index: Index) -> tuple[Option, ...]:
    """Every option of a program, in the order of its files."""
    found: list[Option] = []
    for source in index.program:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call):
                found.extend(_flag(node, source))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
                found.extend(_entries(node, source))
        if _TRAINS.search(source.text):
            found.extend(_constants(source))
    for cls in index.classes:
        if is_option_class(cls, index) or is_plain_option_class(cls):
            found.extend(_fields(cls))
    return tuple(found)


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


def is_record_class(cls: Class, index: Index) -> bool:
    """Whether a class is a dataclass, an attrs class, a msgspec struct or a pydantic model."""
    decorators = (node.func if isinstance(node, ast.Call) else node for node in cls.node.decorator_list)
    names = {(dotted(node) or "").rpartition(".")[2] for node in decorators}
    if names & {"dataclass", "define", "frozen", "attrs", "s", "configclass", "chz", "dataclasses"}:
        return True
    bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
    return bool(bases & {"Struct", "BaseModel", "BaseSettings", "NamedTuple", "TypedDict"})


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


def _flag(call: ast.Call, source: Source) -> Iterator[Option]:
    """`parser.add_argument("--name", ...)` and absl's likes."""
    name = (dotted(call.func) or str(getattr(call.func, "attr", ""))).rpartition(".")[2]
    if name and re.search(
        rf"(?:^|;)\s*{re.escape(name)} = [\w.]+\.add_argument\s*(?:$|;)", source.text, re.MULTILINE
    ):
        name = "add_argument"  # add = parser.add_argument
    texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if not texts:
        return
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if name == "add_argument":
        longest = next((text for text in texts if text.startswith("--")), texts[0])
        target = _literal(given.get("dest")) or longest.lstrip("-").replace("-", "_")
        default = _literal(given.get("default"))
        if _literal(given.get("action")) in {"store_true", "store_false"} and "default" not in given:
            default = _literal(given.get("action")) == "store_false"
        if _literal(given.get("action")) not in {"help", "version"}:
            yield Option(str(target), source.where(call), "flag", default)
    elif name.startswith("DEFINE_") and len(call.args) > 1:
        yield Option(texts[0], source.where(call), "flag", _literal(call.args[1]))


def _entries(node: ast.Assign, source: Source) -> Iterator[Option]:
    target = node.targets[0]
    name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
    if HOLDS_OPTIONS.search(name) and isinstance(node.value, ast.Dict):
        yield from _of_dict(node.value, (), source)


def _of_dict(table: ast.Dict, sections: tuple[str, ...], source: Source) -> Iterator[Option]:
    for key, value in zip(table.keys, table.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            continue
        if isinstance(value, ast.Dict) and value.keys:
            yield from _of_dict(value, (*sections, key.value), source)
        elif isinstance(value, ast.Constant | ast.UnaryOp | ast.List | ast.Tuple):
            # A computed entry is a record of something, not an option.
            yield Option(key.value, source.where(key), "entry", _literal(value), sections)


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
        yield Option(name, cls.source.where(statement), "field", _field_default(statement.value))


def _field_default(value: ast.expr | None) -> object:
    if isinstance(value, ast.Call):
        return next((_literal(keyword.value) for keyword in value.keywords if keyword.arg == "default"), None)
    return _literal(value)


def _literal(node: ast.expr | None) -> object:
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
