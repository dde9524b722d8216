"""What each name in a repository stands for: its modules, functions, classes, imports and registries."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from stethoscope.program.syntax import FunctionNode, all_nodes, blocks
from stethoscope.run import Program, Source, Where

LONGEST_CHAIN = 16  # re-exports followed before a name is given up


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function or method of the repository; `owner` is the class it is a method of."""

    name: str
    qualified: str
    node: FunctionNode
    source: Source
    owner: Class | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters' names in order, `self` included, without * and **."""
        spec = self.node.args
        return tuple(arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs))

    @property
    def spoken(self) -> str:
        """The name people use: `SSIMLoss.forward` or `train`."""
        return f"{self.owner.name}.{self.name}" if self.owner else self.name

    @property
    def decorators(self) -> tuple[str, ...]:
        """The decorators as dotted names, arguments left out."""
        if not self.node.decorator_list:
            return ()
        calls = (node.func if isinstance(node, ast.Call) else node for node in self.node.decorator_list)
        return tuple(filter(None, map(dotted, calls)))

    def where(self, node: ast.AST | None = None) -> Where:
        """The address of the function, or of a node in it."""
        return self.source.where(node or self.node)


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """A class of the repository; `bases` are dotted names as written."""

    name: str
    qualified: str
    node: ast.ClassDef
    source: Source
    bases: tuple[str, ...]
    methods: Mapping[str, Function] = field(default_factory=dict)
    variables: Mapping[str, ast.expr] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A name that a module assigns at its top level, and the expression it gets."""

    name: str
    value: ast.expr
    source: Source


@dataclass(frozen=True, slots=True)
class External:
    """Something from outside the repository, by its full dotted name: torch.nn.functional.interpolate."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """One file's own names, and what it imports: alias -> full dotted name."""

    name: str
    source: Source
    names: Mapping[str, Function | Class | Variable]
    imports: Mapping[str, str]
    stars: tuple[str, ...]


Target = Function | Class | Variable | Module | External


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """The whole repository by name. `functions` and `classes` hold nested ones too."""

    program: Program
    modules: Mapping[str, Module]
    functions: tuple[Function, ...]
    classes: tuple[Class, ...]
    registries: Mapping[str, Mapping[str, Function | Class]]
    _by_suffix: Mapping[str, Sequence[str]]
    _by_file: Mapping[str, Module]
    _functions_named: Mapping[str, Sequence[Function]]
    _scripts: list[Function] = field(default_factory=list)
    _lineages: dict[Class, tuple[Class, ...]] = field(default_factory=dict)
    _outside_bases: dict[Class, tuple[str, ...]] = field(default_factory=dict)
    _resolved: dict[tuple[Module, str], Target | None] = field(default_factory=dict)

    def module_of(self, source: Source) -> Module:
        """The module that a source file is."""
        return self._by_file[source.file]

    @property
    def bodies(self) -> tuple[Function, ...]:
        """Everything that code is written in: the functions, and the top level of each file as one."""
        if not self._scripts:
            self._scripts.extend(_script(source) for source in self.program if source.tree.body)
        return (*self.functions, *self._scripts)

    def functions_named(self, name: str) -> Sequence[Function]:
        """Every function or method of this bare name."""
        return self._functions_named.get(name, ())

    def resolve(self, module: Module, name: str) -> Target | None:
        """What a dotted name means at the top level of `module`; None for a local or built-in name."""
        key = (module, name)
        if key not in self._resolved:
            self._resolved[key] = self._resolve(module, name, LONGEST_CHAIN)
        return self._resolved[key]

    def named(self, full: str) -> Target | None:
        """What a full dotted name stands for, as settings write it: `package.module.Class`."""
        anywhere = next(iter(self.modules.values()), None)
        return self._absolute(full, anywhere, LONGEST_CHAIN) if anywhere is not None else None

    def lineage(self, cls: Class) -> tuple[Class, ...]:
        """The class and its bases inside the repository, nearest first."""
        if cls not in self._lineages:
            found: list[Class] = []
            waiting = [cls]
            while waiting:
                current = waiting.pop(0)
                if current in found:
                    continue
                found.append(current)
                home = self.module_of(current.source)
                targets = (self.resolve(home, base) for base in current.bases)
                waiting.extend(target for target in targets if isinstance(target, Class))
            self._lineages[cls] = tuple(found)
        return self._lineages[cls]

    def outside_bases(self, cls: Class) -> tuple[str, ...]:
        """The full names of all bases outside the repository."""
        if cls not in self._outside_bases:
            names: list[str] = []
            for ancestor in self.lineage(cls):
                home = self.module_of(ancestor.source)
                for base in ancestor.bases:
                    target = self.resolve(home, base)
                    if not isinstance(target, Class):
                        names.append(target.name if isinstance(target, External) else base)
            self._outside_bases[cls] = tuple(names)
        return self._outside_bases[cls]

    def method(self, cls: Class, name: str) -> Function | None:
        """The method that an instance of `cls` answers with."""
        return next((c.methods[name] for c in self.lineage(cls) if name in c.methods), None)

    def _resolve(self, module: Module, name: str, left: int) -> Target | None:
        head, _, rest = name.partition(".")
        if head in module.names:
            return self._member(module.names[head], rest)
        if head in module.imports:
            full = _joined(module.imports[head], rest)
            # A module that is here may still lack the name: part of the source was not kept.
            return self._absolute(full, module, left) or External(full)
        return self._starred(module, name, left) if module.stars and left else None

    def _starred(self, module: Module, name: str, left: int) -> Target | None:
        """What one of the modules has, of which everything is imported; each is asked once."""
        head = name.partition(".")[0]
        seen = {module.source.file}
        waiting = [(module, left)]
        while waiting:
            current, further = waiting.pop()
            if head in current.names or head in current.imports:
                return self._resolve(current, name, further)
            homes = [self._find_module(star, current) for star in current.stars] if further else []
            for home in reversed(homes):
                if home is not None and home.source.file not in seen:
                    waiting.append((home, further - 1))
            seen.update(home.source.file for home in homes if home is not None)
        return None

    def _member(self, target: Function | Class | Variable, rest: str) -> Target | None:
        if not rest:
            return target
        if isinstance(target, Class) and "." not in rest:
            return self.method(target, rest)
        return None

    def _absolute(self, name: str, importer: Module, left: int) -> Target | None:
        """A full name: the longest part that is a module here, then what that module calls the rest."""
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            home = self._find_module(".".join(parts[:cut]), importer)
            if home is None:
                continue
            rest = ".".join(parts[cut:])
            if not rest:
                return home
            if home is importer and rest.partition(".")[0] not in home.names:
                continue  # `from .x import y` inside x itself
            return self._resolve(home, rest, left - 1) if left else None
        return External(name)

    def _find_module(self, name: str, importer: Module) -> Module | None:
        if name in self.modules:
            return self.modules[name]
        # The root a user gives is rarely the folder that Python imports from: src/, a parent, a snapshot.
        candidates = [
            other for other in self._by_suffix.get(name, ()) if self._may_go_by(other, name, importer)
        ]
        if len(candidates) > 1:
            home = importer.name.split(".")
            candidates = sorted(candidates, key=lambda other: -_shared(home, other.split(".")))
        return self.modules[candidates[0]] if candidates else None

    def _may_go_by(self, module: str, name: str, importer: Module) -> bool:
        """Whether a module may be imported by the end of its name: not where it lies in another's package."""
        prefix = self.modules[module].name[: -len(name)].rstrip(".")
        around = self.modules.get(prefix)
        is_package = around is not None and around.source.file.endswith("__init__.py")
        return not is_package or importer.name.rpartition(".")[0] == prefix or importer.name == prefix


@lru_cache(maxsize=4)
def index(program: Program) -> Index:
    """Index a program; asking twice costs once."""
    modules: dict[str, Module] = {}
    functions: list[Function] = []
    classes: list[Class] = []
    for source in program:
        module = _module(source, functions, classes)
        modules[source.module if source.module not in modules else source.file] = module
    by_suffix: dict[str, list[str]] = {}
    for name, module in modules.items():
        parts = module.name.split(".")
        for start in range(1, len(parts)):
            suffix = ".".join(parts[start:])
            by_suffix.setdefault(suffix, []).append(name)
    named: dict[str, list[Function]] = {}
    for function in functions:
        named.setdefault(function.name, []).append(function)
    registries = _registries(modules, functions, classes)
    by_file = {module.source.file: module for module in modules.values()}
    return Index(program, modules, tuple(functions), tuple(classes), registries, by_suffix, by_file, named)


def dotted(node: ast.AST) -> str | None:
    """`a.b.c` where the expression is just that."""
    if isinstance(node, ast.Name):
        return node.id
    ends = ""
    while isinstance(node, ast.Attribute):
        ends = f".{node.attr}{ends}"
        node = node.value
    return node.id + ends if isinstance(node, ast.Name) else None


def _module(source: Source, functions: list[Function], classes: list[Class]) -> Module:
    names: dict[str, Function | Class | Variable] = {}
    imports: dict[str, str] = {}
    stars: list[str] = []
    for statement in _top_level(source.tree.body):
        if isinstance(statement, FunctionNode):
            names[statement.name] = _function(statement, source, None, source.module, functions, classes)
        elif isinstance(statement, ast.ClassDef):
            names[statement.name] = _class(statement, source, source.module, functions, classes)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                bound = alias.asname or alias.name.partition(".")[0]
                if isinstance(names.get(bound), Variable):
                    del names[bound]  # what stood for it where it is missing
        elif isinstance(statement, ast.For | ast.While):
            for inner in _nested(statement.body):  # a closure of each round; nobody else can name it
                if isinstance(inner, FunctionNode):
                    _function(inner, source, None, source.module, functions, classes)
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                for name, value in _named_values(target, statement.value):
                    names[name] = Variable(name, value, source)
    for node in _imports(source.tree):
        _note_import(node, source, imports, stars)
    return Module(source.module, source, names, imports, tuple(stars))


def _script(source: Source) -> Function:
    """The top level of a file, as a function that nobody can name."""
    none = ast.arguments([], [], None, [], [], None, [])
    done = [one for one in source.tree.body if not isinstance(one, FunctionNode | ast.ClassDef)]
    node = ast.FunctionDef("<script>", none, done, [], lineno=1, col_offset=0)
    return Function(node.name, f"{source.module}.{node.name}", node, source)


def _named_values(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names of an assignment with their values: `PAD, EOS = 0, 1` and `PAD, EOS = range(2)` have two."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List) and all(isinstance(one, ast.Name) for one in target.elts):
        pieces = value.elts if isinstance(value, ast.Tuple | ast.List) else _counted(value)
        if len(pieces) == len(target.elts) and not any(isinstance(one, ast.Starred) for one in pieces):
            for one, piece in zip(target.elts, pieces, strict=True):
                yield from _named_values(one, piece)


def _counted(value: ast.expr) -> list[ast.expr]:
    """The numbers of `range(4)`."""
    match value:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int() as count)], keywords=[]):
            return [ast.copy_location(ast.Constant(number), value) for number in range(min(count, 64))]
    return []


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """A module's statements, those under `if`, `try` and `with` included."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            # A handler comes first: `except ImportError: amp = None` is not what the name usually is.
            for handler in getattr(statement, "handlers", []):
                yield from _top_level(handler.body)
            yield from _top_level(statement.body)
            for more in (getattr(statement, "orelse", []), getattr(statement, "finalbody", [])):
                yield from _top_level(more)


def _imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import, those inside functions too: an alias means the same thing all over a file."""
    return (node for node in _statements(tree.body) if isinstance(node, ast.Import | ast.ImportFrom))


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every statement at any depth; expressions are not entered, which is most of the work saved."""
    waiting = deque(body)
    while waiting:
        node = waiting.popleft()
        yield node
        for block in blocks(node):
            waiting.extend(block)


def _note_import(
    node: ast.Import | ast.ImportFrom, source: Source, imports: dict[str, str], stars: list[str]
) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                imports[alias.asname] = alias.name
            else:  # `import a.b` binds a
                imports[alias.name.partition(".")[0]] = alias.name.partition(".")[0]
        return
    base = _import_base(node, source)
    for alias in node.names:
        if alias.name == "*":
            stars.append(base)
        else:
            imports[alias.asname or alias.name] = _joined(base, alias.name)


def _import_base(node: ast.ImportFrom, source: Source) -> str:
    if not node.level:
        return node.module or ""
    is_package = source.file.endswith("__init__.py")
    parts = source.module.split(".")
    kept = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return _joined(".".join(kept), node.module or "")


def _function(
    node: FunctionNode,
    source: Source,
    owner: Class | None,
    scope: str,
    functions: list[Function],
    classes: list[Class],
) -> Function:
    function = Function(node.name, f"{scope}.{node.name}", node, source, owner)
    functions.append(function)
    for inner in _nested(node.body):
        if isinstance(inner, FunctionNode):
            _function(inner, source, None, function.qualified, functions, classes)
        else:
            _class(inner, source, function.qualified, functions, classes)
    return function


def _class(
    node: ast.ClassDef, source: Source, scope: str, functions: list[Function], classes: list[Class]
) -> Class:
    methods: dict[str, Function] = {}
    variables: dict[str, ast.expr] = {}
    bases = tuple(filter(None, (dotted(base) for base in node.bases)))
    cls = Class(node.name, f"{scope}.{node.name}", node, source, bases, methods, variables)
    classes.append(cls)
    for statement in node.body:
        if isinstance(statement, FunctionNode):
            methods[statement.name] = _function(statement, source, cls, cls.qualified, functions, classes)
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            variables.update({t.id: statement.value for t in targets if isinstance(t, ast.Name)})
    return cls


def _nested(body: list[ast.stmt]) -> Iterator[FunctionNode | ast.ClassDef]:
    """The functions and classes defined directly inside a function, at any depth of blocks."""
    waiting = deque[ast.AST](body)
    while waiting:
        node = waiting.popleft()
        if isinstance(node, FunctionNode | ast.ClassDef):
            yield node
            continue
        for block in blocks(node):
            waiting.extend(block)


def _registries(
    modules: Mapping[str, Module], functions: list[Function], classes: list[Class]
) -> dict[str, dict[str, Function | Class]]:
    """What decorators and calls named `register...` put under which key, by the registry's last name."""
    found: dict[str, dict[str, Function | Class]] = {}
    items: list[Function | Class] = [*functions, *classes]
    keeping = _keeping_methods(classes)
    for item in items:
        for decorator in item.node.decorator_list:
            registry, key = _registration(decorator, keeping)
            if registry:
                found.setdefault(registry, {})[(key or item.name).lower()] = item
    for module in modules.values():
        for statement in _top_level(module.source.tree.body):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                _note_registering_call(statement.value, module, found)
    for function in functions:
        for table in _filled_tables(function) if function.name in found else ():
            found.setdefault(table, found[function.name])
    return found


def _filled_tables(function: Function) -> Iterator[str]:
    """The tables that a decorator by hand fills: `MODELS[name] = cls` somewhere in `register`."""
    for node in all_nodes(function.node):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            name = dotted(node.value)
            if name is not None:
                yield name.rpartition(".")[2]


def _keeping_methods(classes: Sequence[Class]) -> frozenset[str]:
    """The methods by which classes of the program keep what they decorate: `self[cls.__name__] = cls`."""
    return frozenset(
        name
        for cls in classes
        for name, method in cls.methods.items()
        if not name.startswith("__") and _keeps_what_it_gives_back(method.node)
    )


def _keeps_what_it_gives_back(node: ast.AST) -> bool:
    """Whether a function, or one inside it, puts what it is given under a key and gives it back."""
    for inner in all_nodes(node, ast.FunctionDef):
        taken = {arg.arg for arg in inner.args.args if arg.arg != "self"}
        given = {one.value.id for one in all_nodes(inner, ast.Return) if isinstance(one.value, ast.Name)}
        kept = {
            one.value.id
            for one in all_nodes(inner, ast.Assign)
            if isinstance(one.value, ast.Name) and isinstance(one.targets[0], ast.Subscript)
        }
        if taken & given & kept:
            return True
    return False


def _registration(decorator: ast.expr, keeping: frozenset[str] = frozenset()) -> tuple[str, str]:
    """The registry and key of `@LOSSES.register("x")`, `@register_loss("x")`, `@LOSSES.register`.

    `keeping` are methods of other names that do the same.
    """
    call = decorator if isinstance(decorator, ast.Call) else None
    name = dotted(call.func if call else decorator)
    last = (name or "").rpartition(".")[2]
    if name is None or not ("register" in last.lower() or ("." in name and last in keeping)):
        return "", ""
    parts = name.split(".")
    registry = parts[-2] if len(parts) > 1 else parts[-1]
    return registry, _key_in(call) if call else ""


def _key_in(call: ast.Call) -> str:
    candidates = [*call.args, *(k.value for k in call.keywords if k.arg in {"name", "key", "type", "alias"})]
    return next((c.value for c in candidates if isinstance(c, ast.Constant) and isinstance(c.value, str)), "")


def _note_registering_call(
    call: ast.Call, module: Module, found: dict[str, dict[str, Function | Class]]
) -> None:
    """`LOSSES.register("x", Thing)` and `LOSSES.register_module(Thing)` at the top level of a module."""
    registry, key = _registration(call)
    if not registry:
        return
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        target = module.names.get(dotted(argument) or "")
        if isinstance(target, Function | Class):
            found.setdefault(registry, {})[(key or target.name).lower()] = target


def _joined(base: str, rest: str) -> str:
    return f"{base}.{rest}" if base and rest else base or rest


def _shared(left: list[str], right: list[str]) -> int:
    """How many leading parts two dotted names have in common."""
    return next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )
