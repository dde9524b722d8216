"""How settings came into a variable: parsed from the command line, loaded from a file, handed in by a caller.

Only what happens on every way through the code counts, and only where nothing reads the setting in between.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.edits.statements import blocks_around
from stethoscope.program.index import dotted
from stethoscope.program.settings.mentions import Mentions, called
from stethoscope.program.settings.setting_reads import path_of, touches
from stethoscope.program.settings.settings_objects import PARSING
from stethoscope.program.syntax import FunctionNode, walk
from stethoscope.run import Source

DEEPEST = 3  # callers looked through from the overwriting statement back to the parser
_LOADING = frozenset(
    {"safe_load", "full_load", "load", "loads", "fromfile", "compose", "merge", "merge_from_file"}
)
_CLASSES = frozenset(
    {"parse_args_into_dataclasses", "parse_args_and_config", "parse_json_file", "parse_yaml_file"}
    | {"cli", "structured"}
)
# What holds the settings it is given: `SimpleNamespace(**loaded)`, `EasyDict(loaded)`, `cls(**loaded)`.
_HOLDING = frozenset(
    {"SimpleNamespace", "Namespace", "EasyDict", "edict", "Munch", "Box", "AttrDict", "DotDict", "DictConfig"}
    | {"create", "cls", "munchify", "ConfigDict"}
)
_MAIN_DECORATORS = frozenset({"main", "wrap", "command"})


def origin_of(holder: str, path: tuple[str, ...], at: ast.stmt, source: Source, code: Mentions) -> str | None:
    """How the settings came into a variable, "loaded" or "parsed", if nothing read the path before `at`."""
    return _origin(holder, path, at, source, code, DEEPEST)


def given_kind(value: ast.expr, source: Source, code: Mentions) -> str | None:
    """Whether a mapping is what a file or the command line holds: "loaded", "parsed" or None."""
    return _given(value, source, code, DEEPEST)


def last_given(name: ast.Name, source: Source, code: Mentions) -> ast.expr | None:
    """What a variable was last given before it is mentioned, where that ran for certain."""
    before = statements_before(statement_of(name, code), source, code) or ()
    return next((made for one in reversed(before) if (made := own_maker(one, name.id)) is not None), None)


def statement_of(node: ast.AST, code: Mentions) -> ast.stmt:
    """The statement that a node stands in."""
    while not isinstance(node, ast.stmt):
        node = code.parents[id(node)]
    return node


def statements_before(at: ast.stmt, source: Source, code: Mentions) -> list[ast.stmt] | None:
    """The statements that have run before one, in its function; None where it runs only sometimes."""
    scope = code.scope_of(at)
    found: list[ast.stmt] = []
    for block, position in reversed(blocks_around(source, at)):
        holding = block[position]
        if holding is scope or isinstance(holding, FunctionNode | ast.ClassDef):
            found = []
            continue
        found.extend(_flat(block[:position]))
        if holding is not at and not _always_runs(holding, at, code):
            return None
    return found


def _before_loops(at: ast.stmt, source: Source, code: Mentions) -> list[ast.stmt]:
    """The same for what is read in a loop: the statements before it, and those of a round before its own."""
    inner: list[ast.stmt] = []
    while (found := statements_before(at, source, code)) is None:
        around = code.parents.get(id(at))
        if not isinstance(around, ast.For):
            return []
        inner = [*around.body, *inner]
        at = around
    return [*found, *inner]


def _flat(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block, with those that stand in a `with` in their place."""
    for statement in block:
        if isinstance(statement, ast.With):
            yield from _flat(statement.body)
        else:
            yield statement


def _always_runs(holding: ast.stmt, at: ast.stmt, code: Mentions) -> bool:
    if isinstance(holding, ast.With):
        return True
    if isinstance(holding, ast.If):
        return "__name__" in {node.id for node in walk(holding.test) if isinstance(node, ast.Name)}
    return isinstance(holding, ast.Try) and any(code.is_within(at, inner) for inner in holding.body)


def own_maker(statement: ast.stmt, holder: str) -> ast.expr | None:
    """What a statement gives to a variable, its own element where `a, b = x, y` gives several."""
    made = _maker(statement, holder)
    if not (isinstance(statement, ast.Assign) and isinstance(made, ast.Tuple | ast.List)):
        return made
    row = statement.targets[0]
    if not isinstance(row, ast.Tuple | ast.List) or len(row.elts) != len(made.elts):
        return made
    names = (getattr(element, "id", None) for element in row.elts)
    return next(value for name, value in zip(names, made.elts, strict=True) if name == holder)


def _maker(statement: ast.stmt, holder: str) -> ast.expr | None:
    """What a statement gives to the variable; an element of it where several are unpacked."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.value if statement.target.id == holder else None
    if not isinstance(statement, ast.Assign):
        return None
    for target in statement.targets:
        names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        if any(isinstance(name, ast.Name) and name.id == holder for name in names):
            return statement.value
    return None


def _origin(
    holder: str, path: tuple[str, ...], at: ast.stmt, source: Source, code: Mentions, left: int
) -> str | None:
    """How the settings came into a variable, if nothing reads the path between there and a statement."""
    before = statements_before(at, source, code)
    if before is None:
        return None
    own_calls = False
    for statement in reversed(before):
        made = _maker(statement, holder)
        if made is not None:
            return _kind(made, source, code, holder, path, left)
        arms = _made_in_arms(statement, holder, path, code)
        if arms:
            kinds = [_kind(one, source, code, holder, path, left) for one in arms]
            return kinds[0] if None not in kinds else None
        if touches(statement, holder, path, code) or (own_calls and _is_kept(statement, holder)):
            return None
        own_calls = own_calls or _calls_own(statement)
    scope = code.scope_of(at)
    if left and isinstance(scope, FunctionNode):
        return _from_caller(scope, holder, path, source, code, left)
    return None


def _made_in_arms(statement: ast.stmt, holder: str, path: tuple[str, ...], code: Mentions) -> list[ast.expr]:
    """What each arm of a condition gives to the variable, where all of them do and none reads the setting.

    `if path.endswith(".json"): args = parser.parse_json_file(path)`, and else from the command line.
    """
    if not isinstance(statement, ast.If) or not statement.orelse:
        return []
    found: list[ast.expr] = []
    for arm in (statement.body, statement.orelse):
        for position in range(len(arm) - 1, -1, -1):
            made = _maker(arm[position], holder)
            inner = [made] if made is not None else _made_in_arms(arm[position], holder, path, code)
            if inner:
                found.extend(inner)
                break
            if touches(arm[position], holder, path, code):
                return []
        else:
            return []
    return found


def _kind(
    made: ast.expr, source: Source, code: Mentions, holder: str, path: tuple[str, ...], left: int
) -> str | None:
    """Whether an expression is settings as the user gave them."""
    while isinstance(made, ast.Subscript):  # parse_known_args()[0]
        made = made.value
    if isinstance(made, ast.Dict | ast.DictComp | ast.BinOp):
        return _given(made, source, code, left - 1)
    if not isinstance(made, ast.Call):
        return None
    last = called(made).rpartition(".")[2]
    if last in PARSING:
        # Parsing an empty list gives the defaults: then setting them here is how they are set.
        if not made.args and isinstance(made.func, ast.Attribute):
            return "parsed"
    elif last in _CLASSES:
        return "parsed"
    elif last in _LOADING:
        return "loaded"
    target = code.index.resolve(code.index.module_of(source), dotted(made.func) or "")
    node = getattr(target, "node", None)
    if left and isinstance(node, FunctionNode):
        kind = _from_return(node, getattr(target, "source", source), path, code, left)
        if kind is None and made.args and _rewraps(node):
            kind = _given(made.args[0], source, code, left)
        return kind or ("parsed" if _reads_command_line(made) and _fills(node) else None)
    if isinstance(node, ast.ClassDef) or last in _HOLDING:
        return _from_fields(made, source, code, path, left)
    return None


def _from_fields(
    made: ast.Call, source: Source, code: Mentions, path: tuple[str, ...], left: int
) -> str | None:
    """The same of an object that is made from given values: `Config(**loaded)`, `Config(lr=args.lr)`."""
    named = {keyword.arg: keyword.value for keyword in made.keywords if keyword.arg is not None}
    if path[0] in named:
        part = path_of(named[path[0]])
        if part is None or not part[1] or not left:
            return None
        return _origin(part[0], part[1], statement_of(made, code), source, code, left - 1)
    spread = [keyword.value for keyword in made.keywords if keyword.arg is None]
    last = called(made).rpartition(".")[2]
    wrapped = made.args[:1] if last in _HOLDING else ()
    kinds = (_given(value, source, code, left) for value in (*spread, *wrapped))
    return next((kind for kind in kinds if kind is not None), None)


def _given(value: ast.expr, source: Source, code: Mentions, left: int) -> str | None:
    """Whether a mapping of settings is what a file or the command line holds."""
    if left < 0:
        return None
    match value:
        case ast.Name(id=name):
            before = _before_loops(statement_of(value, code), source, code)
            made = [one for statement in before if (one := _maker(statement, name)) is not None]
            if made:
                return _given(made[-1], source, code, left - 1)
            scope = code.scope_of(value)
            whole = ("",)  # no part of it: whoever reads one does not matter here
            return (
                _from_caller(scope, name, whole, source, code, left)
                if isinstance(scope, FunctionNode)
                else None
            )
        case ast.Subscript(value=base):
            return _given(base, source, code, left)
        case ast.Dict(keys=keys, values=values) if None in keys:  # {**DEFAULTS, **loaded}
            poured = (one for key, one in zip(keys, values, strict=True) if key is None)
            kinds = (_given(one, source, code, left) for one in poured)
            return next((kind for kind in kinds if kind is not None), None)
        case ast.BinOp(op=ast.BitOr(), left=under, right=over):
            return _given(over, source, code, left) or _given(under, source, code, left)
        case ast.DictComp(value=each, generators=[first, *_]):
            return _given(first.iter, source, code, left) or (
                _given(each, source, code, left) if isinstance(each, ast.Dict | ast.BinOp) else None
            )
        case ast.Call(func=ast.Attribute(value=base, attr="items" | "get" | "copy" | "pop")):
            return _given(base, source, code, left)
        case ast.Call(args=[inner, *_]) if called(value) in {"vars", "dict", "asdict"}:
            return _given(inner, source, code, left)
        case ast.Call():
            return _kind(value, source, code, "", ("",), left)
    return None


def _reads_command_line(call: ast.Call) -> bool:
    """Whether a call gets the words of the command line: `Settings.from_argv(sys.argv[1:])`."""
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return any(dotted(node) == "sys.argv" for value in given for node in walk(value))


def _rewraps(function: FunctionNode) -> bool:
    """Whether a function gives back the very settings it gets, in another form: a dict as a namespace."""
    names = (arg.arg for arg in (*function.args.posonlyargs, *function.args.args))
    parameter = next((name for name in names if name not in {"self", "cls"}), None)
    returned = [node.value for node in walk(function) if isinstance(node, ast.Return)]
    holds = [value for value in returned if isinstance(value, ast.Call) and _is_holding(value)]
    return bool(holds) and all(
        value is not None and any(getattr(node, "id", None) == parameter for node in walk(value))
        for value in returned
    )


def _is_holding(call: ast.Call) -> bool:
    return called(call).rpartition(".")[2] in _HOLDING


def _fills(function: FunctionNode) -> bool:
    """Whether a function returns an object whose fields are not written out: `return cls(**values)`."""
    last = _last_statement(function.body)
    made = last.value if isinstance(last, ast.Return) else None
    return isinstance(made, ast.Call) and any(keyword.arg is None for keyword in made.keywords)


def _last_statement(body: Sequence[ast.stmt]) -> ast.stmt:
    last = body[-1]
    return _last_statement(last.body) if isinstance(last, ast.With) else last


def _from_return(
    function: FunctionNode, source: Source, path: tuple[str, ...], code: Mentions, left: int
) -> str | None:
    """The same of what a function of the repository returns: its last statement tells."""
    last = _last_statement(function.body)
    if not isinstance(last, ast.Return) or last.value is None:
        return None
    if isinstance(last.value, ast.Name):
        return _origin(last.value.id, path, last, source, code, left - 1)
    return _kind(last.value, source, code, "", path, left - 1)


def _from_caller(
    function: FunctionNode, holder: str, path: tuple[str, ...], source: Source, code: Mentions, left: int
) -> str | None:
    """The same of a parameter, where one place in the repository calls the function."""
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    if holder not in names:
        return None
    if any(
        (dotted(getattr(d, "func", d)) or "").rpartition(".")[2] in _MAIN_DECORATORS
        for d in function.decorator_list
    ):
        return "loaded"
    owner = code.scope_of(function)
    is_init = function.name == "__init__"
    called_as = owner.name if is_init and isinstance(owner, ast.ClassDef) else function.name
    calls = code.calls.get(called_as, ())
    if len(calls) != 1:
        return None
    call, place = calls[0], names.index(holder) - (1 if isinstance(owner, ast.ClassDef) else 0)
    given = _argument(call.node, place, holder)
    if isinstance(given, ast.Name):
        around = statement_of(call.node, code)
        return _origin(given.id, path, around, call.source, code, left - 1)
    return _kind(given, call.source, code, holder, path, left - 1) if given is not None else None


def _argument(call: ast.expr, place: int, name: str) -> ast.expr | None:
    assert isinstance(call, ast.Call)
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    if 0 <= place < len(call.args):
        return call.args[place]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _is_kept(statement: ast.stmt, holder: str) -> bool:
    """Whether a statement keeps the settings object as an attribute, under which methods read it."""
    return isinstance(statement, ast.Assign) and getattr(statement.value, "id", None) == holder


def _calls_own(statement: ast.stmt) -> bool:
    calls = (node.func for node in walk(statement) if isinstance(node, ast.Call))
    bases = (func.value for func in calls if isinstance(func, ast.Attribute))
    return any(
        (isinstance(base, ast.Name) and base.id == "self")
        or (isinstance(base, ast.Call) and called(base) == "super")
        for base in bases
    )
