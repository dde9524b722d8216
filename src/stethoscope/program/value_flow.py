"""Where a value goes: into something that acts on it, or only into print-outs, logs and saved records.

The value is followed through expressions, assignments, attributes, parameters of functions in the
repository and what they return. Whatever cannot be followed counts as acting: only a value that is seen
to go nowhere else is called idle.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from stethoscope.program.index import Class, Function, FunctionNode, Index, dotted
from stethoscope.program.settings_tree import HOLDERS
from stethoscope.run import Source, Where

ANY = "*"  # the key of a whole settings object: every part that is taken out of it by name is told apart
MOST_STEPS = 4_000  # of following one value; beyond it the value counts as acting

_PRINTS = re.compile(
    r"^(?:print\w*|pprint|echo|warn|log|logger|log_\w+|print_\w+|display|breakpoint|exit|quit)$"
)
_PRINT_METHODS = frozenset(
    {
        *(
            "info",
            "debug",
            "warning",
            "error",
            "critical",
            "exception",
            "warn",
            "log",
            "print",
            "write",
            "echo",
        ),
        *("log_param", "log_params", "log_hyperparams", "log_hparams", "log_metrics", "log_dict", "log_text"),
        *("add_text", "add_hparams", "add_scalar", "add_scalars", "set_description", "set_postfix", "rule"),
        *(
            "set_postfix_str",
            "set_description_str",
            "save_hyperparameters",
            "init_trackers",
            "pprint",
            "rprint",
        ),
        *("log_config", "summary", "add_row", "exit", "fail", "track"),
    }
)
# Calls that write their first argument away; the others (a path) act.
_WRITES = re.compile(
    r"^(?:torch\.save|json\.dump|yaml\.(?:safe_)?dump|pickle\.dump|(?:\w+\.)?OmegaConf\.save|toml\.dump"
    r"|wandb\.config\.update|(?:\w+\.)*save_config|joblib\.dump)$"
)
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
    {"items", "values", "keys", "copy", "to_dict", "dict", "model_dump", "_asdict", "to_container"}
)
# Methods that only paths have: a variable called `config` is now and then the name of the file.
_OF_PATHS = frozenset(
    {"open", "read_text", "read_bytes", "exists", "is_file", "is_dir", "endswith", "startswith", "split"}
)
_PATH_SHAPES = frozenset(
    {"exists", "isfile", "isdir", "join", "abspath", "expanduser", "basename", "dirname", "realpath"}
)
_KEY = re.compile(r"[\w./-]{1,80}")  # a text that may be a key
_PATH_MARKS = re.compile(r"[./]")
_MATHS = frozenset({"math", "np", "numpy", "torch", "jnp", "tf", "F"})
_ENDS = (ast.Assert, ast.Raise, ast.Expr, ast.Delete, ast.Global, ast.Nonlocal, ast.Pass)
_LIBRARIES = frozenset(
    {
        *(
            "torch",
            "torchvision",
            "torchaudio",
            "numpy",
            "scipy",
            "pandas",
            "jax",
            "tensorflow",
            "math",
            "random",
        ),
        *("os", "sys", "time", "logging", "json", "yaml", "argparse", "pathlib", "re", "copy", "dataclasses"),
    }
)
# Methods of objects from everywhere: a call reaches ours only where the object is seen to be ours.
_COMMON_METHODS = frozenset(
    {
        *(
            "step",
            "backward",
            "fit",
            "train",
            "eval",
            "forward",
            "update",
            "load",
            "save",
            "add",
            "append",
            "extend",
        ),
        *(
            "run",
            "init",
            "get",
            "set",
            "start",
            "apply",
            "register",
            "call",
            "reset",
            "build",
            "put",
            "send",
            "map",
        ),
        *(
            "state_dict",
            "load_state_dict",
            "zero_grad",
            "close",
            "open",
            "test",
            "predict",
            "setup",
            "create",
        ),
    }
)
_BAGS = frozenset({"dict", "UserDict", "OrderedDict", "Namespace", "SimpleNamespace", "Munch", "object"})
# Calls that run a function elsewhere with the arguments they are given.
_STARTERS = frozenset({"spawn", "Process", "Thread", "launch", "start_processes", "partial", "submit"})
# Bases that read no attributes which a derived class might set.
_PLAIN_BASES = re.compile(
    r"(?:^|\.)(?:Module|LightningModule|Dataset|IterableDataset|object|ABC|Protocol|Generic)$"
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_CARRIES = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List, ast.Set, ast.Starred),
    *(
        ast.FormattedValue,
        ast.JoinedStr,
        ast.Await,
        ast.ListComp,
        ast.SetComp,
        ast.GeneratorExp,
        ast.DictComp,
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """An expression in a source file."""

    node: ast.expr
    source: Source

    @property
    def where(self) -> Where:
        """Its address."""
        return self.source.where(self.node)


@dataclass(frozen=True, slots=True, eq=False)
class _Leaf:
    """One step of following: an expression, and the key the value lies under where it is a container."""

    spot: Spot
    key: str | None


@dataclass(slots=True, eq=False)
class Code:
    """A repository's expressions by the names they mention, and each one's parent."""

    index: Index
    parents: dict[int, ast.AST] = field(default_factory=dict)
    attributes: dict[str, list[Spot]] = field(default_factory=dict)
    texts: dict[str, list[Spot]] = field(default_factory=dict)
    names: dict[str, list[Spot]] = field(default_factory=dict)
    calls: dict[str, list[Spot]] = field(default_factory=dict)
    given: dict[str, list[Spot]] = field(default_factory=dict)  # variable or attribute -> what it is assigned
    paths: dict[str, Where] = field(default_factory=dict)  # parts of texts such as "train.lr"
    flags: frozenset[str] = frozenset()  # of the command line; `args.config` is a path, `self.config` is not

    def scope_of(self, node: ast.AST) -> ast.AST:
        """The function, class or module that a node stands in."""
        current = self.parents.get(id(node))
        while current is not None and not isinstance(current, (*_SCOPES, ast.Module)):
            current = self.parents.get(id(current))
        assert current is not None
        return current


def read_code(index: Index, flags: frozenset[str] = frozenset()) -> Code:
    """Note every mention in a repository; `flags` are the names of its command-line options."""
    code = Code(index, flags=flags)
    for source in index.program:
        libraries = _libraries(source, index)
        for parent in ast.walk(source.tree):
            for child in ast.iter_child_nodes(parent):
                code.parents[id(child)] = parent
                _note(child, source, libraries, code)
    return code


def _libraries(source: Source, index: Index) -> frozenset[str]:
    """The names under which a file knows libraries: what is taken out of them is no setting."""
    imports = index.module_of(source).imports
    return frozenset(alias for alias, full in imports.items() if full.partition(".")[0] in _LIBRARIES)


def _note(node: ast.AST, source: Source, libraries: frozenset[str], code: Code) -> None:
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        if isinstance(node.value, ast.Name) and node.value.id in libraries:
            return
        code.attributes.setdefault(node.attr, []).append(Spot(node, source))
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        code.names.setdefault(node.id, []).append(Spot(node, source))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _KEY.fullmatch(node.value):
        code.texts.setdefault(node.value, []).append(Spot(node, source))
        for part in _PATH_MARKS.split(node.value)[1:]:  # OmegaConf.select(cfg, "train.lr")
            code.paths.setdefault(part, source.where(node))
    elif isinstance(node, ast.Call):
        name = _called(node).rpartition(".")[2]
        if name:
            code.calls.setdefault(name, []).append(Spot(node, source))
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            name = target.id if isinstance(target, ast.Name) else str(getattr(target, "attr", ""))
            code.given.setdefault(name, []).append(Spot(node.value, source))


def _builds_something(choice: ast.IfExp) -> bool:
    """Whether `a() if setting else b` decides what is built, and not merely what is said."""
    return any(isinstance(node, ast.Call) for side in (choice.body, choice.orelse) for node in ast.walk(side))


def acts(spot: Spot, code: Code, key: str | None = None) -> Where | None:
    """Where the value of an expression reaches something that acts on it; None where nothing does.

    With a `key`, the expression is a container, and the value lies under that key in it.
    """
    return _Following(code).follow(_Leaf(spot, key))


class _Following:
    """The walk along one value. It ends at the first thing that acts."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.seen: set[tuple[object, ...]] = set()
        self.todo: list[_Leaf] = []
        self.steps = 0

    def follow(self, start: _Leaf) -> Where | None:
        """Where the value acts, or None."""
        self.todo = [start]
        while self.todo:
            leaf = self.todo.pop()
            if (id(leaf.spot.node), leaf.key) in self.seen:
                continue
            self.seen.add((id(leaf.spot.node), leaf.key))
            self.steps += 1
            if self.steps > MOST_STEPS or self.step(leaf):
                return leaf.spot.where
        return None

    def step(self, leaf: _Leaf) -> bool:
        """Take one step up from an expression; whether it acts there."""
        node = leaf.spot.node
        parent = self.code.parents.get(id(node))
        if isinstance(parent, ast.Attribute):
            return self.taken(parent, parent.attr, leaf)
        if isinstance(parent, ast.Subscript):
            if parent.slice is node:
                return not _is_text(node)  # an index decides what is taken
            return self.taken(parent, _text(parent.slice), leaf)
        if isinstance(parent, ast.keyword):
            call = self.code.parents[id(parent)]
            return isinstance(call, ast.ClassDef) or self.argument(call, parent, leaf)  # type: ignore[arg-type]
        if isinstance(parent, ast.Call):
            return True if parent.func is node else self.argument(parent, node, leaf)
        if isinstance(parent, ast.Dict):
            return self.in_dict(parent, leaf)
        if isinstance(parent, ast.NamedExpr):
            return self.assigned(parent.target, leaf) or self.on(parent, leaf)
        own = self.own_target(node)
        if own is not None:
            return self.assigned(own, leaf)
        if isinstance(parent, ast.IfExp) and parent.test is node and _builds_something(parent):
            return leaf.key != ANY
        if isinstance(parent, _CARRIES):
            return self.on(parent, leaf)
        if isinstance(parent, ast.comprehension):
            return self.looped(parent.target, leaf) if parent.iter is node else True
        if isinstance(parent, ast.Assign):
            return any(self.assigned(target, leaf) for target in parent.targets)
        if isinstance(parent, ast.AnnAssign | ast.AugAssign):
            return parent.value is node and self.assigned(parent.target, leaf)
        if isinstance(parent, ast.Return):
            return self.returned(parent, leaf)
        if isinstance(parent, ast.If):  # what depends on the whole depends on no setting in particular
            return leaf.key != ANY and not (only_prints(parent.body) and only_prints(parent.orelse))
        if isinstance(parent, ast.For | ast.AsyncFor):
            return not only_prints(parent.body) and self.looped(parent.target, leaf)
        return not isinstance(parent, _ENDS)

    def own_target(self, node: ast.expr) -> ast.expr | None:
        """What an element of `a, b = x, y` is assigned to, where that is one thing."""
        row = self.code.parents.get(id(node))
        if not isinstance(row, ast.Tuple | ast.List):
            return None
        around = self.code.parents.get(id(row))
        if isinstance(around, ast.Assign) and around.value is row and len(around.targets) == 1:
            target: ast.expr | None = around.targets[0]
        else:
            target = self.own_target(row)
        if not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != len(row.elts):
            return None
        if any(isinstance(element, ast.Starred) for element in (*target.elts, *row.elts)):
            return None
        return next(to for to, element in zip(target.elts, row.elts, strict=True) if element is node)

    def on(self, parent: ast.expr, leaf: _Leaf) -> bool:
        """Go on with the expression around."""
        self.todo.append(_Leaf(Spot(parent, leaf.spot.source), leaf.key))
        return False

    def taken(self, whole: ast.Attribute | ast.Subscript, name: str | None, leaf: _Leaf) -> bool:
        """Something is taken out of the value, or a method of it is called."""
        parent = self.code.parents.get(id(whole))
        if isinstance(parent, ast.Call) and parent.func is whole:
            return self.method(parent, name or "", leaf)
        if leaf.key is None:
            return self.on(whole, leaf)
        if name is None or name == leaf.key:  # a key that is computed: it may be ours
            self.todo.append(_Leaf(Spot(whole, leaf.spot.source), None))
        elif name in {"__dict__", "_asdict"}:
            return self.on(whole, leaf)
        return False

    def method(self, call: ast.Call, name: str, leaf: _Leaf) -> bool:
        """A method of the value: `cfg.get("x")`, `cfg.items()`, `text.format(...)`, `model.fit(...)`."""
        if name in {"get", "pop", "setdefault", "getattr"} and call.args:
            wanted = _text(call.args[0])
            if leaf.key is None or wanted is None or wanted == leaf.key:
                self.todo.append(_Leaf(Spot(call, leaf.spot.source), None))
            return False
        if leaf.key is not None and name in {
            "update",
            "merge_from_file",
            "merge_from_list",
            "freeze",
            "defrost",
            "pop",
        }:
            return False
        if name in _OWN_SHAPES or leaf.key is None:
            return self.on(call, leaf)
        if name in _OF_PATHS:
            return False
        functions = self.code.index.functions_named(name)
        if not functions:
            return True
        # A method of our own settings class: what it takes from itself is told apart by name.
        return any(self.parameter(function, 0, leaf) for function in functions)

    def argument(self, call: ast.Call, given: ast.expr | ast.keyword, leaf: _Leaf) -> bool:
        """The value is handed to a call."""
        name = _called(call)
        last = name.rpartition(".")[2]
        if self.is_print(call, name, given):
            return False
        if last == "getattr" and call.args and call.args[0] is given:
            wanted = _text(call.args[1]) if len(call.args) > 1 else None
            if leaf.key is None or wanted is None or wanted == leaf.key:
                self.todo.append(_Leaf(Spot(call, leaf.spot.source), None))
            return False
        if last == "setattr" and len(call.args) == 3 and call.args[2] is given:
            wanted = _text(call.args[1])
            # Of a whole, each part is kept under its own name, by which it is told apart.
            return self.attribute(wanted, leaf.key) if wanted is not None else leaf.key != ANY
        if leaf.key == ANY and (name == "open" or name.startswith("os.path.")):
            return False  # then it was no settings object but the path of its file
        if leaf.key == ANY and last in _STARTERS and self.starts_ours(call, leaf.spot.source):
            return False
        if leaf.key == ANY and last == "__init__" and self.fills_a_dict(call):
            return False
        targets = self.targets(call, leaf.spot.source)
        if targets:
            return any(self.handed(target, call, given, leaf) for target in targets)
        return self.on(call, leaf) if _reshapes(name) else True

    def starts_ours(self, call: ast.Call, source: Source) -> bool:
        """Whether a call runs a function of the repository in other processes or threads."""
        given = [
            *call.args[:1],
            *(keyword.value for keyword in call.keywords if keyword.arg in {"target", "fn"}),
        ]
        index = self.code.index
        names = filter(None, map(dotted, given))
        return any(isinstance(index.resolve(index.module_of(source), name), Function) for name in names)

    def fills_a_dict(self, call: ast.Call) -> bool:
        """Whether `super().__init__(settings)` fills a class that is a dict or a bag of attributes."""
        cls = self.class_around(call)
        bases = self.code.index.outside_bases(cls) if cls is not None else ()
        return bool(bases) and all(base.rpartition(".")[2] in _BAGS for base in bases)

    def class_around(self, node: ast.AST) -> Class | None:
        """The class that a node stands in."""
        scope = node
        while not isinstance(scope, ast.ClassDef | ast.Module):
            scope = self.code.scope_of(scope)
        return next((cls for cls in self.code.index.classes if cls.node is scope), None)

    def is_print(self, call: ast.Call, name: str, given: ast.expr | ast.keyword) -> bool:
        """Whether a call only prints, logs or saves what it is given, or stops the program over it."""
        base, _, last = name.rpartition(".")
        if isinstance(self.code.parents.get(id(call)), ast.Raise):
            return True
        if name in {"wandb.init", "mlflow.start_run"}:
            return isinstance(given, ast.keyword) and given.arg == "config"
        if _WRITES.match(name):
            return given in call.args[:1] or getattr(given, "arg", None) == "obj"
        if base:
            return last in _PRINT_METHODS and base not in _MATHS
        return bool(_PRINTS.match(last)) and not self.code.index.functions_named(last)

    def targets(self, call: ast.Call, source: Source) -> list[Function | Class]:
        """The functions and classes of the repository that a call may reach; none where it may leave it."""
        index = self.code.index
        name = dotted(call.func)
        if name is not None:
            found = index.resolve(index.module_of(source), name)
            if isinstance(found, Function | Class):
                return [found]
            if "." not in name:
                return [f for f in index.functions_named(name) if f.source is source and f.owner is None]
        if isinstance(call.func, ast.Subscript | ast.Call):
            return self.registered(call.func, source)
        if not isinstance(call.func, ast.Attribute):
            return []
        if _is_super(call.func.value):
            return self.inherited(call, call.func.attr)
        if call.func.attr in _COMMON_METHODS and not self.is_ours(call.func.value, source):
            return []
        return list(index.functions_named(call.func.attr))

    def registered(self, chosen: ast.Subscript | ast.Call, source: Source) -> list[Function | Class]:
        """What `MODELS[name](...)` or `MODELS.get(name)(...)` may call, if all of it is in the repository."""
        base = chosen.value if isinstance(chosen, ast.Subscript) else getattr(chosen.func, "value", None)
        name = (dotted(base) or "").rpartition(".")[2] if base is not None else ""
        index = self.code.index
        if name in index.registries:
            return list(index.registries[name].values())
        tables = [spot for spot in self.code.given.get(name, ()) if isinstance(spot.node, ast.Dict)]
        values = [(value, spot.source) for spot in tables for value in getattr(spot.node, "values", ())]
        found = [index.resolve(index.module_of(home), dotted(value) or "") for value, home in values]
        ours = [target for target in found if isinstance(target, Function | Class)]
        return ours if len(ours) == len(found) else []

    def inherited(self, call: ast.Call, name: str) -> list[Function | Class]:
        """The method that `super()` finds, where all bases are in the repository."""
        cls = self.class_around(call)
        if cls is None or self.code.index.outside_bases(cls):
            return []
        lineage = self.code.index.lineage(cls)[1:]
        return next(([base.methods[name]] for base in lineage if name in base.methods), [])

    def is_ours(self, receiver: ast.expr, source: Source) -> bool:
        """Whether an object is one of a class of the repository."""
        if isinstance(receiver, ast.Name) and receiver.id in {"self", "cls"}:
            return True
        made = [Spot(receiver, source)] if isinstance(receiver, ast.Call) else []
        made += self.code.given.get(getattr(receiver, "id", getattr(receiver, "attr", "")), [])
        index = self.code.index
        names = [(spot, _called(spot.node)) for spot in made if isinstance(spot.node, ast.Call)]
        return any(
            isinstance(index.resolve(index.module_of(s.source), name), Class) for s, name in names if name
        )

    def handed(
        self, target: Function | Class, call: ast.Call, given: ast.expr | ast.keyword, leaf: _Leaf
    ) -> bool:
        """The value becomes a parameter, or a field of a class without a constructor."""
        function, skip = self.constructor(target)
        if function is None:
            return self.field_of(target, call, given, leaf)
        if isinstance(given, ast.keyword):
            if given.arg is None:  # **settings: each key becomes the parameter of its name
                return self.spread(function, leaf)
            names = function.parameters
            return self.parameter(function, names.index(given.arg), leaf) if given.arg in names else True
        if given not in call.args or any(isinstance(argument, ast.Starred) for argument in call.args):
            return True
        return self.parameter(function, call.args.index(given) + skip, leaf)

    def constructor(self, target: Function | Class) -> tuple[Function | None, int]:
        if isinstance(target, Class):
            return self.code.index.method(target, "__init__"), 1
        method = target.owner is not None and "staticmethod" not in target.decorators
        return target, int(method)

    def field_of(
        self, target: Function | Class, call: ast.Call, given: ast.expr | ast.keyword, leaf: _Leaf
    ) -> bool:
        assert isinstance(target, Class)
        fields = [name for one in reversed(self.code.index.lineage(target)) for name in _fields(one)]
        if not fields:
            return True  # the constructor is outside
        if isinstance(given, ast.keyword):
            # Settings spread into the fields of a class are taken out again by name.
            return self.attribute(given.arg, leaf.key) if given.arg is not None else leaf.key != ANY
        place = call.args.index(given) if given in call.args else len(fields)
        return self.attribute(fields[place], leaf.key) if place < len(fields) else True

    def spread(self, function: Function, leaf: _Leaf) -> bool:
        if function.node.args.kwarg is not None or leaf.key in (None, ANY):
            return True
        names = function.parameters
        if leaf.key not in names:
            return False
        return self.parameter(function, names.index(leaf.key), _Leaf(leaf.spot, None))

    def parameter(self, function: Function, place: int, leaf: _Leaf) -> bool:
        """Follow a parameter through the body of its function."""
        names = function.parameters
        rest = function.node.args.vararg
        if place < len(names):
            return self.variable(names[place], function.node, function.source, leaf.key)
        return self.variable(rest.arg, function.node, function.source, leaf.key) if rest else True

    def variable(self, name: str, scope: ast.AST, source: Source, key: str | None) -> bool:
        """Every place in a scope where a variable is read."""
        if (name, id(scope), key) in self.seen:
            return False
        self.seen.add((name, id(scope), key))
        for spot in self.code.names.get(name, ()):
            if spot.source is source and self.is_within(spot.node, scope):
                self.todo.append(_Leaf(spot, key))
        return False

    def is_within(self, node: ast.AST, scope: ast.AST) -> bool:
        current: ast.AST | None = node
        while current is not None:
            if current is scope:
                return True
            current = self.code.parents.get(id(current))
        return False

    def attribute(self, name: str, key: str | None) -> bool:
        """Every place in the repository where an attribute or key of this name is read."""
        if (name, key) in self.seen:
            return False
        self.seen.add((name, key))
        spots = taken_by_name(name, self.code)
        if key == ANY and name in self.code.flags:
            spots = (spot for spot in spots if _is_own(spot.node))
        self.todo.extend(_Leaf(spot, key) for spot in spots)
        return False

    def assigned(self, target: ast.expr, leaf: _Leaf) -> bool:
        """The value gets a name."""
        if isinstance(target, ast.Name):
            return self.named(target, leaf)
        if isinstance(target, ast.Attribute):
            return self.kept(target, leaf)
        if isinstance(target, ast.Tuple | ast.List):
            return any(self.assigned(element, leaf) for element in target.elts)
        if isinstance(target, ast.Subscript):
            return self.put(target, leaf)
        return True

    def kept(self, target: ast.Attribute, leaf: _Leaf) -> bool:
        """The value becomes an attribute; of an object from outside, which may read it, unless ours does."""
        nobody_here = not any(True for _ in taken_by_name(target.attr, self.code))
        if nobody_here and not self.is_settings(target.value) and not self.is_plain_self(target):
            return True
        return self.attribute(target.attr, leaf.key)

    def is_plain_self(self, target: ast.Attribute) -> bool:
        """Whether the attribute is of an object whose bases do not read it behind our back."""
        if not (isinstance(target.value, ast.Name) and target.value.id in {"self", "cls"}):
            return False
        cls = self.class_around(target)
        return cls is not None and all(_PLAIN_BASES.search(b) for b in self.code.index.outside_bases(cls))

    def put(self, target: ast.Subscript, leaf: _Leaf) -> bool:
        """The value goes into a container: one of our own, or `group["lr"]` of an optimiser."""
        name, base = _text(target.slice), target.value
        if name is None:
            return leaf.key != ANY
        if self.is_settings(base):
            return self.attribute(name, leaf.key)
        if isinstance(base, ast.Name) and self.is_own_dict(base):
            return self.named(base, _Leaf(leaf.spot, leaf.key or name))
        return True

    def is_settings(self, base: ast.expr) -> bool:
        """Whether something is a settings object by its name."""
        name = str(getattr(base, "id", getattr(base, "attr", "")))
        return name.lower() in HOLDERS

    def is_own_dict(self, base: ast.Name) -> bool:
        scope = self.code.scope_of(base)
        made = [
            spot.node for spot in self.code.given.get(base.id, ()) if self.code.scope_of(spot.node) is scope
        ]
        return bool(made) and all(
            isinstance(node, ast.Dict | ast.DictComp)
            or (isinstance(node, ast.Call) and _called(node) in {"dict", "defaultdict", "OrderedDict"})
            for node in made
        )

    def named(self, target: ast.Name, leaf: _Leaf) -> bool:
        scope = self.code.scope_of(target)
        if isinstance(scope, ast.ClassDef):
            return self.attribute(target.id, leaf.key)
        if isinstance(scope, ast.Module):  # other modules may import it
            for spot in self.code.names.get(target.id, ()):
                self.todo.append(_Leaf(spot, leaf.key))
            return self.attribute(target.id, leaf.key)
        return self.variable(target.id, scope, leaf.spot.source, leaf.key)

    def looped(self, target: ast.expr, leaf: _Leaf) -> bool:
        """The value is gone through: each element of a settings list is a settings object again."""
        if leaf.key == ANY and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            target = target.elts[1]  # for key, value in settings.items()
        if leaf.key is None or not isinstance(target, ast.Name):
            return True
        return self.assigned(target, leaf)

    def in_dict(self, parent: ast.Dict, leaf: _Leaf) -> bool:
        """The value lies in a literal dict; a whole settings object in it stays what it is."""
        place = next((i for i, value in enumerate(parent.values) if value is leaf.spot.node), None)
        if place is None:
            return False  # it is a key
        key = leaf.key if leaf.key is not None else _text(parent.keys[place])
        if key is None:
            return True
        self.todo.append(_Leaf(Spot(parent, leaf.spot.source), key))
        return False

    def returned(self, statement: ast.Return, leaf: _Leaf) -> bool:
        """The value goes to every caller."""
        scope = self.code.scope_of(statement)
        if not isinstance(scope, FunctionNode):
            return True
        if scope.name.startswith("__") or scope.name in {"forward", "call"}:
            return True
        spots = list(self.code.calls.get(scope.name, ()))
        spots += [s for s in self.code.attributes.get(scope.name, ()) if not self.is_called(s.node)]
        spots += [s for s in self.code.names.get(scope.name, ()) if not self.is_called(s.node)]
        self.todo.extend(_Leaf(spot, leaf.key) for spot in spots)
        return not spots  # called from where we cannot look

    def is_called(self, node: ast.AST) -> bool:
        parent = self.code.parents.get(id(node))
        return isinstance(parent, ast.Call) and parent.func is node


def taken_by_name(name: str, code: Code) -> Iterator[Spot]:
    """Every expression that takes what has this name out of an object: x.name, x["name"], x.get("name")."""
    yield from code.attributes.get(name, ())
    for spot in code.texts.get(name, ()):
        parent = code.parents.get(id(spot.node))
        reads = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load)
        if reads or (isinstance(parent, ast.Call) and _takes(parent, spot.node)):
            assert isinstance(parent, ast.expr)
            yield Spot(parent, spot.source)


def spoken_of(name: str, code: Code) -> Iterator[Spot]:
    """Every other text of this name but the keys of literal dicts: something may be looked up by it."""
    taken = {id(spot.node) for spot in taken_by_name(name, code)}
    for spot in code.texts.get(name, ()):
        parent = code.parents.get(id(spot.node))
        is_key = isinstance(parent, ast.Dict) and any(key is spot.node for key in parent.keys)
        if not is_key and id(parent) not in taken and not isinstance(parent, ast.Subscript | ast.Expr):
            yield spot


def only_prints(body: list[ast.stmt]) -> bool:
    """Whether statements do nothing but print, log, warn or stop with an error."""
    return all(_only_prints(statement) for statement in body)


def _only_prints(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass | ast.Raise | ast.Assert):
        return True
    if isinstance(statement, ast.Expr):
        if isinstance(statement.value, ast.Constant):
            return True
        if not isinstance(statement.value, ast.Call):
            return False
        name = _called(statement.value)
        base, _, last = name.rpartition(".")
        return last in _PRINT_METHODS and base not in _MATHS if base else bool(_PRINTS.match(last))
    if isinstance(statement, ast.If):
        return only_prints(statement.body) and only_prints(statement.orelse)
    if isinstance(statement, ast.For | ast.With):
        return only_prints(statement.body)
    return False


def _called(call: ast.Call) -> str:
    """The name of what a call calls, as far as it is written as one."""
    return dotted(call.func) or str(getattr(call.func, "attr", ""))


def _reshapes(name: str) -> bool:
    base, _, last = name.rpartition(".")
    if base in _MATHS:
        return last in {"log", "log2", "log10", "sqrt", "ceil", "floor"}
    if base in {"os.path", "osp", "path"}:
        return last in _PATH_SHAPES  # a path that is only looked at does nothing
    return bool(_RESHAPING_MODULES.match(base) if base else _RESHAPES.match(last))


def _takes(call: ast.Call, text: ast.expr) -> bool:
    name = _called(call).rpartition(".")[2]
    if name in {"get", "pop"}:
        return isinstance(call.func, ast.Attribute) and bool(call.args) and call.args[0] is text
    return name == "getattr" and len(call.args) > 1 and call.args[1] is text


def _is_own(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _fields(cls: Class) -> list[str]:
    return [
        statement.target.id
        for statement in cls.node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    ]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _text(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
