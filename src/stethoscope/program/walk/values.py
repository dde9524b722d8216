"""What an expression stands for when its function is followed without being run.

    Constant     a number, text or flag that is known
    Leaf         something from outside: a parameter, a batch, an unresolved name
    Part         an attribute or item of something unresolved
    Applied      an operator, outside function or unknown callable applied to values
    Delayed      a call of a pure function of the repository, not yet followed
    Choice       one of several, depending on a condition that is not known
    Items, Table lists and dictionaries
    Instance     an object of a class of the repository
    Callables    FunctionValue, ClassValue, LambdaValue, PartialValue, Outside, ModuleValue

Values are compared by identity: two calls of one function are two values.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from stethoscope.program.index import Class, Function, Module
from stethoscope.run import Source, Where


@dataclass(frozen=True, slots=True)
class Site:
    """The place in the source that made a value."""

    source: Source
    node: ast.AST

    @property
    def where(self) -> Where:
        """The address to show."""
        return self.source.where(self.node)

    @property
    def text(self) -> str:
        """The source text there."""
        span = self.span
        return self.source.text[span[0] : span[1]] if span is not None else ""

    @property
    def span(self) -> tuple[int, int] | None:
        """The character offsets of the place in its file."""
        return span_of(self.source, self.node)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """The base of all values."""


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Value):
    """A known value; `setting` is the dotted key of the setting it came from, if any."""

    value: object
    setting: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Leaf(Value):
    """Something from outside, under the name it has here."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Part(Value):
    """An attribute or item; `key` is "*" for an element of an unknown iterable."""

    base: Value
    key: str | int


@dataclass(frozen=True, slots=True, eq=False)
class Applied(Value):
    """A function applied to values.

    `callee` is an operator ("+", "neg", "[]", "==", "not"), a full outside name, ".method" (receiver
    first), or "()" for an unresolved callable (the callable first). An outside class that was made and
    then called is "torch.nn.L1Loss()", with the making in `maker`.
    """

    callee: str
    args: tuple[Value, ...]
    keywords: Mapping[str, Value]
    site: Site
    maker: Applied | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Choice(Value):
    """One of several values."""

    options: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Items(Value):
    """A list, tuple or set as far as its elements are known."""

    items: list[Value]


@dataclass(frozen=True, slots=True, eq=False)
class Table(Value):
    """A dictionary: entries under known keys, and `rest`, whose keys are not known.

    `missing` makes what is asked for and not there, as in a defaultdict.
    """

    entries: dict[object, Value]
    rest: list[Value] = field(default_factory=list)
    missing: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Settings(Value):
    """A section of the settings: a mapping or a list."""

    key: tuple[str | int, ...]
    tree: dict[str, object] | list[object]


@dataclass(frozen=True, slots=True, eq=False)
class Instance(Value):
    """An object of a class of the repository. `made_with` are its constructor's arguments."""

    cls: Class
    attributes: dict[str, Value] = field(default_factory=dict)
    made_with: dict[str, Value] = field(default_factory=dict)
    open: bool = False  # made with arguments that are not known


@dataclass(frozen=True, slots=True, eq=False)
class FunctionValue(Value):
    """A function of the repository, with the object it is bound to and the names around it."""

    function: Function
    bound: Value | None = None
    around: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class LambdaValue(Value):
    """A lambda with the names around it."""

    node: ast.Lambda
    source: Source
    around: Mapping[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class PartialValue(Value):
    """functools.partial."""

    callee: Value
    args: tuple[Value, ...]
    keywords: Mapping[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class ClassValue(Value):
    """A class of the repository."""

    cls: Class


@dataclass(frozen=True, slots=True, eq=False)
class ModuleValue(Value):
    """A module of the repository."""

    module: Module


@dataclass(frozen=True, slots=True, eq=False)
class Outside(Value):
    """A name from outside the repository."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class SuperValue(Value):
    """super() inside a method of `cls`."""

    instance: Value
    cls: Class


@dataclass(frozen=True, slots=True, eq=False)
class Delayed(Value):
    """A call of a pure function of the repository."""

    callee: FunctionValue | LambdaValue
    args: tuple[Value, ...]
    keywords: Mapping[str, Value]
    site: Site


NOTHING = Constant(None)


def is_nothing(value: Value) -> bool:
    """Whether a value is known to be None."""
    return isinstance(value, Constant) and value.value is None


def is_key(value: object) -> bool:
    """Whether a constant can be the key of an entry in a Table."""
    return isinstance(value, str | int | float | bool | None | bytes)


def span_of(source: Source, node: ast.AST) -> tuple[int, int] | None:
    """The character offsets of a node in its file."""
    line, column = getattr(node, "lineno", None), getattr(node, "col_offset", None)
    last, end = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
    if line is None or column is None or last is None or end is None:
        return None
    lines, starts = lines_of(source)
    # The parser counts columns in bytes.
    first = len(lines[line - 1].encode()[:column].decode(errors="ignore"))
    final = len(lines[last - 1].encode()[:end].decode(errors="ignore"))
    return starts[line - 1] + first, starts[last - 1] + final


@lru_cache(maxsize=64)
def lines_of(source: Source) -> tuple[list[str], list[int]]:
    """The lines of a file as the parser counts them, and the offset at which each begins."""
    lines = source.text.split("\n")
    starts = [0]
    for text in lines:
        starts.append(starts[-1] + len(text) + 1)
    return lines, starts


def choice(*options: Value) -> Value:
    """One of these, flattened; just the value where there is only one."""
    first = options[0] if options else None
    if first is not None and all(option is first for option in options):
        return first  # what a branch leaves alone is most of what branches are joined over
    flat: list[Value] = []
    for option in options:
        for single in option.options if isinstance(option, Choice) else (option,):
            if len(flat) == MOST_OPTIONS:
                return Choice(tuple(flat))  # a table of thousands is not looked through
            if single not in flat and not _is_constant_among(single, flat):
                flat.append(single)
    return flat[0] if len(flat) == 1 else Choice(tuple(flat))


MOST_OPTIONS = 12
SCALARS = (str, int, float, bool, type(None))


def inputs(value: Value) -> Sequence[Value]:
    """The values that a value was made from, one step back."""
    # Asked a million times for a program of some thousand lines: a `match` takes twice as long.
    kind = value.__class__
    if kind is Applied:
        assert isinstance(value, Applied)
        maker = () if value.maker is None else (value.maker,)
        return (*value.args, *value.keywords.values(), *maker) if value.keywords or maker else value.args
    if kind is Part:
        assert isinstance(value, Part)
        return (value.base,)
    if isinstance(value, Delayed):
        bound = value.callee.bound if isinstance(value.callee, FunctionValue) else None
        holder = () if bound is None else (bound,)
        return (*holder, *value.args, *value.keywords.values())
    if isinstance(value, Choice):
        return value.options
    if isinstance(value, Items):
        return value.items
    if isinstance(value, Table):
        return (*value.entries.values(), *value.rest)
    return ()


def _is_constant_among(value: Value, others: list[Value]) -> bool:
    if not isinstance(value, Constant) or not isinstance(value.value, SCALARS):
        return False
    kind, known = type(value.value), value.value
    return any(
        isinstance(other, Constant) and type(other.value) is kind and other.value == known for other in others
    )
