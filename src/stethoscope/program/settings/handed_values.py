"""Values that are handed to a call: into a parameter, a field, a process, a print-out, or out of reach.

Each function says whether the value acts there. Where it goes on, `following` follows it further.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stethoscope.program.index import Class, Function, dotted
from stethoscope.program.settings.call_targets import constructor, targets
from stethoscope.program.settings.mentions import Spot, called, text_of
from stethoscope.program.settings.telling import MATHS, tells
from stethoscope.run import Source

if TYPE_CHECKING:
    from stethoscope.program.settings.value_flow import Following

ANY = "*"  # the key of a whole settings object: every part that is taken out of it by name is told apart

# Functions that hand their argument on in another shape, and modules whose functions do.
_RESHAPES = re.compile(
    r"^(?:int|float|str|bool|len|abs|round|max|min|sum|list|tuple|dict|set|repr|format|sorted|vars|any|all|type|iter"
    r"|isinstance|hasattr|enumerate|zip|map|filter|deepcopy|asdict|Path|Namespace|SimpleNamespace|EasyDict|Munch"
    r"|edict|munchify|DictConfig|AttrDict|DotMap|Box|pformat|join|fields)$"
)
_RESHAPING_MODULES = re.compile(
    r"^(?:copy|dataclasses|json|yaml|pprint|argparse|types|omegaconf|OmegaConf|attr|msgspec)\b"
)
# Methods that give the value itself, or its parts, in another shape.
_OWN_SHAPES = frozenset(
    {
        *("items", "values", "keys", "copy", "clone", "to_dict", "dict", "as_dict", "asdict"),
        *("model_dump", "model_dump_json", "_asdict", "to_container", "to_json", "to_yaml"),
        *("to_json_string", "json", "dump", "dumps", "pretty_text"),
    }
)
# Methods that change a settings object in place.
_CHANGES = frozenset({"update", "merge_from_file", "merge_from_list", "freeze", "defrost", "pop"})
# Methods that only paths have: a variable called `config` is now and then the name of the file.
_OF_PATHS = frozenset(
    {"open", "read_text", "read_bytes", "exists", "is_file", "is_dir", "endswith", "startswith", "split"}
)
_PATH_SHAPES = frozenset(
    {"exists", "isfile", "isdir", "join", "abspath", "expanduser", "basename", "dirname", "realpath"}
)
_BAGS = frozenset({"dict", "UserDict", "OrderedDict", "Namespace", "SimpleNamespace", "Munch", "object"})
# Calls that run a function elsewhere with the arguments they are given.
_STARTERS = frozenset({"spawn", "Process", "Thread", "launch", "start_processes", "partial", "submit"})


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """One step of following: an expression, and the key the value lies under where it is a container."""

    spot: Spot
    key: str | None


def method_called(following: Following, call: ast.Call, name: str, leaf: Leaf) -> bool:
    """A method of the value: `cfg.get("x")`, `cfg.items()`, `text.format(...)`, `model.fit(...)`."""
    if name in {"get", "pop", "setdefault", "getattr"} and call.args:
        if leaf.key is None:
            return following.on(call, leaf)
        following.part(call, call.args[0], leaf)
        return False
    if leaf.key is not None and name in _CHANGES:
        return False
    if leaf.key is None and isinstance(following.code.parents.get(id(call)), ast.Expr):
        return True  # loss.backward(): it is called for what it does
    if name in _OWN_SHAPES or leaf.key is None:
        return following.on(call, leaf)
    if name in _OF_PATHS:
        return False
    functions = following.code.index.functions_named(name)
    if not functions:
        return True
    # A method of our own settings class: what it takes from itself is told apart by name.
    return any(following.parameter(function, 0, leaf) for function in functions)


def handed_to_call(following: Following, call: ast.Call, given: ast.expr | ast.keyword, leaf: Leaf) -> bool:
    """The value is handed to a call."""
    name = called(call)
    last = name.rpartition(".")[2]
    if _is_told(following, call, name, given) or _asks_for_its_type(call, name, given):
        return False
    if isinstance(call.func, ast.Call) and called(call.func) == "type":  # type(old)(new)
        return following.on(call, leaf)
    if last == "getattr" and call.args and call.args[0] is given:
        if leaf.key is None:
            return following.on(call, leaf)
        following.part(call, call.args[1] if len(call.args) > 1 else None, leaf)
        return False
    if last in {"setattr", "delattr"} and call.args[:1] == [given] and leaf.key is not None:
        return False  # a part of it is changed
    if last == "setattr" and len(call.args) == 3 and call.args[2] is given:
        wanted = text_of(call.args[1])
        # Of a whole, each part is kept under its own name, by which it is told apart.
        return (
            following.attribute(wanted, leaf.key)
            if wanted is not None
            else following.is_lost(leaf, call.args[1])
        )
    if leaf.key == ANY and _keeps_together(following, call, name, leaf, given):
        return False
    found = targets(call, leaf.spot.source, following.code)
    if found:
        return any(_handed(following, target, call, given, leaf) for target in found)
    return following.on(call, leaf) if _reshapes(name) else True


def _is_told(following: Following, call: ast.Call, name: str, given: ast.expr | ast.keyword) -> bool:
    """Whether a call only prints, logs or saves what it is given, or stops the program over it."""
    if isinstance(following.code.parents.get(id(call)), ast.Raise):
        return True
    return tells(call, given) and ("." in name or not following.code.index.functions_named(name))


def _asks_for_its_type(call: ast.Call, name: str, given: ast.expr | ast.keyword) -> bool:
    """Whether a call looks at a value only to know what kind it is: overrides are read so."""
    return name in {"type", "isinstance"} and given in call.args[:1] and len(call.args) <= 2


def _keeps_together(
    following: Following, call: ast.Call, name: str, leaf: Leaf, given: ast.expr | ast.keyword
) -> bool:
    """Whether a call leaves a whole settings object what it is."""
    last = name.rpartition(".")[2]
    if name == "open" or name.startswith("os.path."):
        return True  # then it was no settings object but the path of its file
    started = _started(following, call, leaf.spot.source) if last in _STARTERS else []
    if started:
        if isinstance(given, ast.keyword) and given.arg is None:  # partial(build, **settings)
            return not any(_spread(following, function, leaf) for function in started)
        return not following.is_lost(leaf)
    if last == "__init__" and _fills_a_dict(following, call):
        return not following.is_lost(leaf)
    if last == "update" and isinstance(call.func, ast.Attribute):
        return _is_poured(following, call.func.value, leaf)
    return False


def _is_poured(following: Following, into: ast.expr, leaf: Leaf) -> bool:
    """Whether `into.update(settings)` fills another settings object, a dict or the object's own names."""
    if getattr(into, "attr", "") == "__dict__" or (isinstance(into, ast.Call) and called(into) == "vars"):
        return not following.is_lost(leaf)
    if isinstance(into, ast.Name) and (following.is_settings(into) or following.is_own_dict(into)):
        following.named(into, leaf)
        return True
    return False


def _started(following: Following, call: ast.Call, source: Source) -> list[Function]:
    """The functions of the repository that a call runs later, or in other processes or threads."""
    given = [
        *call.args[:1],
        *(keyword.value for keyword in call.keywords if keyword.arg in {"target", "fn"}),
    ]
    index = following.code.index
    names = filter(None, map(dotted, given))
    found = (index.resolve(index.module_of(source), name) for name in names)
    return [function for function in found if isinstance(function, Function)]


def _fills_a_dict(following: Following, call: ast.Call) -> bool:
    """Whether `super().__init__(settings)` fills a class that is a dict or a bag of attributes."""
    cls = following.code.class_around(call)
    bases = following.code.index.outside_bases(cls) if cls is not None else ()
    return bool(bases) and all(base.rpartition(".")[2] in _BAGS for base in bases)


def _handed(
    following: Following, target: Function | Class, call: ast.Call, given: ast.expr | ast.keyword, leaf: Leaf
) -> bool:
    """The value becomes a parameter, or a field of a class without a constructor."""
    function, skip = constructor(target, following.code)
    if function is None:
        assert isinstance(target, Class)
        return _field_of(following, target, call, given, leaf)
    if isinstance(given, ast.keyword):
        if given.arg is None:  # **settings: each key becomes the parameter of its name
            return _spread(following, function, leaf)
        if given.arg in function.parameters:
            return following.parameter(function, function.parameters.index(given.arg), leaf)
        if function.node.args.kwarg is None:
            return True  # then it was not this function
        return following.in_rest(function, Leaf(leaf.spot, given.arg)) if leaf.key is None else True
    if given not in call.args or any(isinstance(argument, ast.Starred) for argument in call.args):
        return True
    return following.parameter(function, call.args.index(given) + skip, leaf)


def _field_of(
    following: Following, target: Class, call: ast.Call, given: ast.expr | ast.keyword, leaf: Leaf
) -> bool:
    fields = [name for one in reversed(following.code.index.lineage(target)) for name in _fields(one)]
    bases = following.code.index.outside_bases(target)
    if not fields and bases and all(base.rpartition(".")[2] in _BAGS for base in bases):
        return following.on(call, leaf)  # a dict with another way to ask it
    if not fields:
        return True  # the constructor is outside
    if isinstance(given, ast.keyword):
        # Settings spread into the fields of a class are taken out again by name.
        return following.attribute(given.arg, leaf.key) if given.arg is not None else following.is_lost(leaf)
    place = call.args.index(given) if given in call.args else len(fields)
    return following.attribute(fields[place], leaf.key) if place < len(fields) else True


def _spread(following: Following, function: Function, leaf: Leaf) -> bool:
    """`function(**settings)`."""
    if leaf.key is None:
        return True
    if leaf.key == ANY:
        following.spreads.append(function)
    names = function.parameters
    if leaf.key in names:
        return following.parameter(function, names.index(leaf.key), Leaf(leaf.spot, None))
    return following.in_rest(function, leaf)


def _reshapes(name: str) -> bool:
    base, _, last = name.rpartition(".")
    if base in MATHS:
        return last in {"log", "log2", "log10", "sqrt", "ceil", "floor"}
    if base in {"os.path", "osp", "path"}:
        return last in _PATH_SHAPES  # a path that is only looked at does nothing
    return bool(_RESHAPING_MODULES.match(base) if base else _RESHAPES.match(last))


def _fields(cls: Class) -> list[str]:
    return [
        statement.target.id
        for statement in cls.node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    ]
