"""Settings that are given a value by the code after they were parsed and before anything reads them.

Only what happens on every way through the code counts: a statement straight in the body of the script or
function in which the settings were parsed, or of a function whose only caller hands them in untouched.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.handed_settings import may_read
from stethoscope.program.index import FunctionNode, dotted
from stethoscope.program.mentions import Mentions, Spot, called, text_of
from stethoscope.program.option import Option
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_objects import PARSING
from stethoscope.program.statements import blocks_around
from stethoscope.program.syntax import walk
from stethoscope.program.telling import tells
from stethoscope.run import Source, Where

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


@dataclass(frozen=True, slots=True, eq=False)
class Overwritten:
    """A setting by its path in the settings object, and the statement that replaces it."""

    path: tuple[str, ...]
    statement: ast.stmt
    value: ast.expr
    source: Source
    kind: str  # "parsed" from the command line or "loaded" from a file
    default: ast.expr | None = None  # what the value is where nobody types the flag that it comes from

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path[-1]

    @property
    def where(self) -> Where:
        """The address of the statement."""
        return self.source.where(self.statement)

    @property
    def is_alone(self) -> bool:
        """Whether the statement does nothing but replace this one setting."""
        if isinstance(self.statement, ast.Assign):
            names = (path[1][-1:] or (path[0],) for t in self.statement.targets if (path := path_of(t)))
            return len(self.statement.targets) == 1 and self.path[-1:] in set(names)
        call = getattr(self.statement, "value", None)
        return isinstance(call, ast.Call) and called(call) == "setattr"

    @property
    def text(self) -> str:
        """The statement as it is written, in one line."""
        return ast.unparse(self.statement)


def overwritten_settings(code: Mentions, names: Iterable[str]) -> Iterator[Overwritten]:
    """Every setting of these names that is replaced before it is read."""
    known = _known(code)
    for name in names:
        if name not in known:
            known[name] = tuple(_of_name(name, code))
        yield from known[name]


@remembered
def _known(code: Mentions) -> dict[str, tuple[Overwritten, ...]]:
    """What was found of each name: many files of settings give the same ones."""
    return {}


def _of_name(name: str, code: Mentions) -> Iterator[Overwritten]:
    for spot in (*code.given.get(name, ()), *code.texts.get(name, ())):
        statement = _statement_around(spot, code)
        if isinstance(statement, ast.Assign | ast.Expr):
            yield from _replaced(name, statement, spot.source, code)


def _replaced(
    name: str, statement: ast.Assign | ast.Expr, source: Source, code: Mentions
) -> Iterator[Overwritten]:
    for (holder, path), value in _stores(statement):
        if holder == "self" and path[-1] == name and _is_in_lightning_cli(path, statement, source, code):
            if not _reads(value, "self", path, code):
                yield Overwritten(_below_subcommand(path), statement, value, source, "parsed")
            continue
        if holder == "self" and len(path) > 1:
            holder, path = _kept_as(path, statement, source, code)
        if path[-1] != name or holder in {"self", "cls"} or _reads(value, holder, path, code):
            continue
        at: ast.stmt = statement
        for _ in range(DEEPEST):
            part = _part_taken(holder, path, at, source, code)
            if part is None:
                break
            holder, path, at = part
        if _reads(value, holder, path, code):
            continue
        kind = _origin(holder, path, at, source, code, DEEPEST)
        if kind is not None:
            yield Overwritten(path, statement, value, source, kind)


def _stores(statement: ast.Assign | ast.Expr) -> Iterator[tuple[tuple[str, tuple[str, ...]], ast.expr]]:
    """What a statement stores in parts of a variable: `args.lr = 1`, `cfg["a"]["b"] = 1`, `setattr(...)`."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            path = path_of(target)
            if path is not None and path[1]:
                yield path, statement.value
    elif isinstance(statement.value, ast.Call) and called(statement.value) == "setattr":
        given = statement.value.args
        name = text_of(given[1]) if len(given) == 3 else None
        holder = path_of(given[0]) if given else None
        if name is not None and holder is not None:
            yield (holder[0], (*holder[1], name)), given[2]


def path_of(node: ast.expr) -> tuple[str, tuple[str, ...]] | None:
    """The variable and the names behind it: `cfg.train["lr"]` is cfg, (train, lr)."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        name = node.attr if isinstance(node, ast.Attribute) else text_of(node.slice)
        if name is None:
            return None
        parts.append(name)
        node = node.value
    return (node.id, tuple(reversed(parts))) if isinstance(node, ast.Name) else None


def _kept_as(
    path: tuple[str, ...], at: ast.stmt, source: Source, code: Mentions
) -> tuple[str, tuple[str, ...]]:
    """The variable that a method kept as an attribute before: `self.cfg = cfg` and then `self.cfg.lr`."""
    for statement in _statements_before(at, source, code) or ():
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name)):
            continue
        if any(path_of(target) == ("self", path[:1]) for target in statement.targets):
            return statement.value.id, path[1:]
    return "self", path


def _is_in_lightning_cli(path: tuple[str, ...], at: ast.stmt, source: Source, code: Mentions) -> bool:
    """Whether a statement stores into what Lightning's command line has parsed, before objects are made."""
    scope, cls = code.scope_of(at), code.class_around(at)
    if path[0] != "config" or getattr(scope, "name", "") != "before_instantiate_classes" or cls is None:
        return False
    if not any(base.rpartition(".")[2] == "LightningCLI" for base in code.index.outside_bases(cls)):
        return False
    before = _statements_before(at, source, code)
    return before is not None and not any(_touches(one, "self", path, code) for one in before)


def _below_subcommand(path: tuple[str, ...]) -> tuple[str, ...]:
    """The path in the file: `self.config.fit.model.lr` is its `model.lr`."""
    return path[2:] if path[1] in {"fit", "validate", "test", "predict"} else path[1:]


def _part_taken(
    holder: str, path: tuple[str, ...], at: ast.stmt, source: Source, code: Mentions
) -> tuple[str, tuple[str, ...], ast.stmt] | None:
    """The settings that a variable is a section of, `train = cfg["train"]`, if nothing read it since."""
    since: list[ast.stmt] = []
    for statement in reversed(_statements_before(at, source, code) or ()):
        made = _own_maker(statement, holder)
        if made is None:
            since.append(statement)
            continue
        base = path_of(made)
        if base is None or not base[1]:
            return None
        whole = (*base[1], *path)
        if any(_touches(one, *at_, code) for one in since for at_ in ((holder, path), (base[0], whole))):
            return None
        return base[0], whole, statement
    return None


def _own_maker(statement: ast.stmt, holder: str) -> ast.expr | None:
    """What a statement gives to a variable, its own element where `a, b = x, y` gives several."""
    made = _maker(statement, holder)
    if not (isinstance(statement, ast.Assign) and isinstance(made, ast.Tuple | ast.List)):
        return made
    row = statement.targets[0]
    if not isinstance(row, ast.Tuple | ast.List) or len(row.elts) != len(made.elts):
        return made
    names = (getattr(element, "id", None) for element in row.elts)
    return next(value for name, value in zip(names, made.elts, strict=True) if name == holder)


def _origin(
    holder: str, path: tuple[str, ...], at: ast.stmt, source: Source, code: Mentions, left: int
) -> str | None:
    """How the settings came into a variable, if nothing reads the path between there and a statement."""
    before = _statements_before(at, source, code)
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
        if _touches(statement, holder, path, code) or (own_calls and _is_kept(statement, holder)):
            return None
        own_calls = own_calls or _calls_own(statement)
    scope = code.scope_of(at)
    if left and isinstance(scope, FunctionNode):
        return _from_caller(scope, holder, path, source, code, left)
    return None


def _statements_before(at: ast.stmt, source: Source, code: Mentions) -> list[ast.stmt] | None:
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
            if _touches(arm[position], holder, path, code):
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
            before = _statements_before(statement_of(value, code), source, code) or ()
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
        case ast.DictComp(generators=[first, *_]):
            return _given(first.iter, source, code, left)
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


def origin_of(holder: str, path: tuple[str, ...], at: ast.stmt, source: Source, code: Mentions) -> str | None:
    """How the settings came into a variable, "loaded" or "parsed", if nothing read the path before `at`."""
    return _origin(holder, path, at, source, code, DEEPEST)


def given_kind(value: ast.expr, source: Source, code: Mentions) -> str | None:
    """Whether a mapping is what a file or the command line holds: "loaded", "parsed" or None."""
    return _given(value, source, code, DEEPEST)


def last_given(name: ast.Name, source: Source, code: Mentions) -> ast.expr | None:
    """What a variable was last given before it is mentioned, where that ran for certain."""
    before = _statements_before(statement_of(name, code), source, code) or ()
    return next((made for one in reversed(before) if (made := _own_maker(one, name.id)) is not None), None)


def statement_of(node: ast.AST, code: Mentions) -> ast.stmt:
    """The statement that a node stands in."""
    while not isinstance(node, ast.stmt):
        node = code.parents[id(node)]
    return node


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
        around = _statement_around(call, code)
        return _origin(given.id, path, around, call.source, code, left - 1)
    return _kind(given, call.source, code, holder, path, left - 1) if given is not None else None


def _argument(call: ast.expr, place: int, name: str) -> ast.expr | None:
    assert isinstance(call, ast.Call)
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    if 0 <= place < len(call.args):
        return call.args[place]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _statement_around(spot: Spot, code: Mentions) -> ast.stmt:
    return statement_of(spot.node, code)


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


def _touches(statement: ast.stmt, holder: str, path: tuple[str, ...], code: Mentions) -> bool:
    """Whether a statement may read the setting: by its path, or through the settings as a whole."""
    if isinstance(statement, FunctionNode | ast.ClassDef):
        return False  # it runs later, if at all
    return _reads(statement, holder, path, code)


def _reads(node: ast.AST, holder: str, path: tuple[str, ...], code: Mentions) -> bool:
    """Whether the setting is read in a node, out of this variable or out of another one of its name."""
    for name in walk(node):
        if isinstance(name, ast.Name) and name.id == holder and isinstance(name.ctx, ast.Load):
            if _is_read_at(name, path, code):
                return True
        elif isinstance(name, ast.Attribute) and name.attr == path[-1] and isinstance(name.ctx, ast.Load):
            base = path_of(name)
            if (base is None or base[0] != holder) and not _is_told(name, code):
                return True
    return False


def _is_read_at(name: ast.Name, path: Sequence[str], code: Mentions) -> bool:
    """Whether a mention of the settings object reads the setting: not another part, and not to tell of it."""
    node: ast.expr = name
    for part in path:
        parent = code.parents.get(id(node))
        if isinstance(parent, ast.Attribute):
            taken: str | None = parent.attr
        elif isinstance(parent, ast.Subscript) and parent.value is node:
            taken = text_of(parent.slice)
        else:
            break
        if taken is not None and taken != part and not code.is_called(parent):
            return False
        if taken != part:
            break
        node = parent
    parent = code.parents.get(id(node))
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    if isinstance(parent, ast.Assign) and isinstance(node, ast.Name):
        return not all(isinstance(target, ast.Attribute) for target in parent.targets)  # self.cfg = cfg
    if isinstance(parent, ast.Call) and node is name and not may_read(parent, name, path, code):
        return False
    return not _is_told(node, code)


def _is_told(node: ast.AST, code: Mentions) -> bool:
    """Whether an expression is only printed, logged or saved."""
    inner, parent = node, code.parents.get(id(node))
    while isinstance(parent, ast.FormattedValue | ast.JoinedStr | ast.keyword | ast.Call | ast.Dict):
        if isinstance(parent, ast.Call) and inner is not parent.func:
            if isinstance(inner, ast.expr | ast.keyword) and tells(parent, inner):
                return True
            if called(parent) not in {"vars", "dict", "str", "repr", "asdict", "json.dumps", "to_yaml"}:
                return False
        inner, parent = parent, code.parents.get(id(parent))
    return False


def overwritten_parameters(code: Mentions, options: Iterable[Option]) -> Iterator[Overwritten]:
    """Parameters that are options, and constants that a file may replace, set anew before they are read."""
    functions = {function.qualified: function for function in code.index.functions}
    for option in options:
        for spot in code.given.get(option.name, ()):
            statement = _statement_around(spot, code)
            if not isinstance(statement, ast.Assign) or spot.source.file != option.where.file:
                continue
            if not any(isinstance(t, ast.Name) and t.id == option.name for t in statement.targets):
                continue
            function = functions.get(option.origin)
            body = function.node.body if function is not None else spot.source.tree.body
            if statement in body and _is_first_use(option, statement, body, code):
                kind = "parsed" if function is not None else "loaded"
                yield Overwritten((option.name,), statement, spot.node, spot.source, kind)


def _is_first_use(option: Option, statement: ast.stmt, body: Sequence[ast.stmt], code: Mentions) -> bool:
    """Whether nothing reads the option before a statement; a constant must have been replaceable by then."""
    before = [other for other in body[: body.index(statement)] if other.lineno > (option.where.line or 0)]
    if option.kind == "constant" and not any(map(_loads, before)):
        return False
    reads = (
        node
        for part in (*before, statement.value if isinstance(statement, ast.Assign) else statement)
        if not isinstance(part, FunctionNode | ast.ClassDef)
        for node in walk(part)
        if isinstance(node, ast.Name) and node.id == option.name and isinstance(node.ctx, ast.Load)
    )
    return all(_is_told(node, code) for node in reads)


def _loads(statement: ast.stmt) -> bool:
    """Whether a statement replaces constants of the script: `exec(open("configurator.py").read())`."""
    calls = (called(node) for node in walk(statement) if isinstance(node, ast.Call))
    return any(name in {"exec", "globals.update"} or name.endswith("override") for name in calls)
