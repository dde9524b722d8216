"""The names that a Python settings file assigns, statement by statement, as far as its text tells."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from stethoscope.recipe._python.constants import Names, called_name, condition, evaluate
from stethoscope.recipe._python.spans import Spans
from stethoscope.recipe._tree import Node, Section, is_mapping, merged, put, without
from stethoscope.run import Key, Setting

# Gives the names of another settings file that is imported: relative dots, and the dotted module.
Import = Callable[[int, str], dict[str, Node] | None]

_RECORD_MAKERS = frozenset({"dataclass", "define", "frozen", "attrs", "s", "configclass", "chz", "struct"})
_RECORD_BASES = frozenset(
    {"Struct", "BaseModel", "BaseSettings", "NamedTuple", "TypedDict", "PretrainedConfig"}
)
MAKES_SETTINGS = re.compile(
    r"^_?(?:get|make|build|create|default)?_?(?:default)?s?_?(?:config|cfg|hparams?|hps)s?(?:_defaults?)?$"
)


def nothing_imported(level: int, module: str) -> dict[str, Node] | None:
    """No other file is at hand."""
    del level, module
    return None


def run_statements(
    body: Iterable[ast.stmt], names: Names, spans: Spans, imported: Import = nothing_imported
) -> Node | None:
    """Follow statements in order; gives what a `return` among them returns."""
    for statement in body:
        match statement:
            case ast.Return(value=value):
                return evaluate(value, names, spans) if value is not None else None
            case ast.If():
                returned = _branch(statement, names, spans, imported)
                if returned is not None:
                    return returned
            case _:
                _follow(statement, names, spans, imported)
    return None


def _branch(statement: ast.If, names: Names, spans: Spans, imported: Import) -> Node | None:
    holds = condition(statement.test, names, spans)
    if holds is None:
        _forget(statement, names, spans)
        return None
    return run_statements(statement.body if holds else statement.orelse, names, spans, imported)


def _follow(statement: ast.stmt, names: Names, spans: Spans, imported: Import) -> None:
    match statement:
        case ast.Assign(targets=targets, value=value):
            node = evaluate(value, names, spans)
            for target in sorted(targets, key=_is_name):
                _assign(target, node, names, spans)
            _note_aliases(targets, value, node, names, spans)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            _assign(target, evaluate(value, names, spans), names, spans)
        case ast.AugAssign():
            _augment(statement, names, spans)
        case ast.Delete(targets=targets):
            for target in targets:
                _delete(target, names)
        case ast.Expr(value=ast.Call() as call):
            _call(call, names, spans)
        case ast.ClassDef():
            _class(statement, names, spans)
        case ast.FunctionDef():
            _function(statement, names, spans, imported)
        case ast.ImportFrom(level=level, module=module, names=aliases):
            _import(imported(level, module or ""), aliases, names)
        case ast.With(items=[ast.withitem(context_expr=ast.Call(func=func))], body=body) if called_name(
            func
        ).endswith("read_base"):
            run_statements(body, names, spans, imported)
        case ast.For() | ast.While() | ast.With() | ast.Try() | ast.Match():
            _forget(statement, names, spans)


def _is_name(target: ast.expr) -> bool:
    return isinstance(target, ast.Name)


def _note_aliases(targets: list[ast.expr], value: ast.expr, node: Node, names: Names, spans: Spans) -> None:
    """`training = config.training = ConfigDict()`: what is set in the one is set in the other."""
    places = [target for target in (*targets, value) if isinstance(target, ast.Attribute | ast.Subscript)]
    key = _key(places[0], names, spans) if places else None
    if key is None or not is_mapping(node) or str(key[0]) not in names.values:
        return
    for target in targets:
        if isinstance(target, ast.Name):
            names.values.pop(target.id, None)
            names.aliases[target.id] = key


def _assign(target: ast.expr, node: Node, names: Names, spans: Spans) -> None:
    """Give a value to a name, to an entry of one, or to several at once."""
    if isinstance(target, ast.Tuple | ast.List):
        parts = list(node.items.values()) if isinstance(node, Section) else []
        for index, part in enumerate(target.elts):
            known = len(parts) == len(target.elts)
            _assign(part, parts[index] if known else _untold(part, spans), names, spans)
        return
    key = _key(target, names, spans)
    if key is None:
        return
    name = str(key[0])
    earlier = names.values.pop(name, None)  # a name stands where it was last given a value
    if len(key) == 1:
        names.aliases.pop(name, None)
        names.values[name] = _replacing(node, earlier)
    elif earlier is not None and (isinstance(earlier, Section) or is_mapping(earlier)):
        names.values[name] = put(earlier, key[1:], _replacing(node, _inside(earlier, key[1:])))
    elif earlier is not None:
        names.values[name] = earlier


def _replacing(node: Node, earlier: Node | None) -> Node:
    if isinstance(node, Setting) and isinstance(earlier, Setting):
        return replace(node, replaces=(earlier.where, *earlier.replaces))
    return node


def _inside(tree: Node, key: Key) -> Node | None:
    for part in key:
        if not isinstance(tree, Section) or part not in tree.items:
            return None
        tree = tree.items[part]
    return tree


def _key(target: ast.expr, names: Names, spans: Spans) -> Key | None:
    """`cfg.optim["lr"]` as a key that begins with the variable's name."""
    parts: list[str | int] = []
    while isinstance(target, ast.Attribute | ast.Subscript):
        if isinstance(target, ast.Attribute):
            parts.append(target.attr)
        else:
            index = evaluate(target.slice, names, spans)
            if isinstance(index, Section) or not index.known or not isinstance(index.value, str | int):
                return None
            parts.append(index.value)
        target = target.value
    if not isinstance(target, ast.Name):
        return None
    start = names.aliases.get(target.id, (target.id,)) if parts else (target.id,)
    return (*start, *reversed(parts))


def _augment(statement: ast.AugAssign, names: Names, spans: Spans) -> None:
    target = statement.target
    expression = ast.BinOp(left=target, op=statement.op, right=statement.value)
    ast.copy_location(expression, statement)
    _assign(target, evaluate(expression, names, spans), names, spans)


def _delete(target: ast.expr, names: Names) -> None:
    if isinstance(target, ast.Name):
        names.values.pop(target.id, None)


def _call(call: ast.Call, names: Names, spans: Spans) -> None:
    """`cfg.update(dict(...))`, `cfg.merge(...)`, `cfg.pop("key")`, `args.append(...)`."""
    if not isinstance(call.func, ast.Attribute):
        return
    key = _key(call.func.value, names, spans)
    if key is not None and len(key) == 1:
        key = names.aliases.get(str(key[0]), key)
    if key is None or str(key[0]) not in names.values:
        return
    method, whole = call.func.attr, names.values[str(key[0])]
    current = _inside(whole, key[1:])
    if current is None:
        return
    if method in {"update", "merge"} and is_mapping(current):
        given = [evaluate(argument, names, spans) for argument in call.args]
        given += [Section({k.arg: evaluate(k.value, names, spans)}) for k in call.keywords if k.arg]
        for one in given:
            current = _updated(current, one, deep=method == "merge")
        names.values[str(key[0])] = put(whole, key[1:], current)
    elif method == "pop" and call.args:
        part = evaluate(call.args[0], names, spans)
        if isinstance(part, Setting) and isinstance(part.value, str):
            names.values[str(key[0])] = without(whole, (*key[1:], part.value))
    elif method in {"append", "extend", "insert", "remove", "setdefault"}:
        names.values[str(key[0])] = put(whole, key[1:], _untold(call.func.value, spans))


def _updated(current: Node, given: Node, deep: bool) -> Node:
    if deep or not isinstance(given, Section):
        return merged(current, given) if is_mapping(given) else current
    items = dict(current.items) if isinstance(current, Section) else {}
    for name, node in given.items.items():
        items[name] = _replacing(node, items.get(name))
    return Section(items, False, current.where)


def _class(statement: ast.ClassDef, names: Names, spans: Spans) -> None:
    """A class of constants, or a record's fields, as a section; inherited ones come first."""
    inner = names.inner()
    fields: Node = Section({}, where=spans.where(statement))
    for base in statement.bases:
        if (inherited := names.records.get(called_name(base))) is not None:
            names.held.add(called_name(base))
            fields = merged(fields, inherited)
    for part in statement.body:
        if isinstance(part, ast.AnnAssign) and "ClassVar" in ast.unparse(part.annotation):
            continue
        if isinstance(part, ast.Assign | ast.AnnAssign | ast.ClassDef):
            _follow(part, inner, spans, nothing_imported)
    own: dict[str | int, Node] = {
        name: node for name, node in inner.values.items() if not name.startswith("_")
    }
    names.records[statement.name] = merged(fields, Section(own, where=spans.where(statement)))


def is_record(statement: ast.ClassDef) -> bool:
    """Whether a class is made of fields: a dataclass and its likes, or constants and nothing else."""
    makers = {
        called_name(d.func if isinstance(d, ast.Call) else d).rpartition(".")[2]
        for d in statement.decorator_list
    }
    bases = {called_name(base).rpartition(".")[2] for base in statement.bases}
    methods = any(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in statement.body)
    return bool(makers & _RECORD_MAKERS or bases & _RECORD_BASES) or not methods


def _function(statement: ast.FunctionDef, names: Names, spans: Spans, imported: Import) -> None:
    """What `get_config()` returns is known by the function's name, where it needs no arguments."""
    if not MAKES_SETTINGS.match(statement.name):
        return
    spec = statement.args
    inner = names.inner()
    for argument in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
        inner.values[argument.arg] = _untold_argument(argument, spans)
    returned = run_statements(statement.body, inner, spans, imported)
    if returned is not None and isinstance(returned, Section) and not returned.is_list:
        names.records[statement.name] = returned


def _import(known: dict[str, Node] | None, aliases: list[ast.alias], names: Names) -> None:
    """Names that another settings file gave."""
    if known is None:
        return
    for alias in aliases:
        wanted = list(known) if alias.name == "*" else [alias.name]
        for name in wanted:
            if name in known:
                bound = name if alias.name == "*" or alias.asname is None else alias.asname
                target = names.records if MAKES_SETTINGS.match(name) else names.values
                target[bound] = known[name]


def _forget(statement: ast.stmt, names: Names, spans: Spans) -> None:
    """What is assigned in a branch or loop that cannot be followed is unknown afterwards."""
    for target in _targets(statement):
        if isinstance(target, ast.Name) and target.id in names.aliases:
            del names.aliases[target.id]
        if isinstance(target, ast.Name):
            names.values[target.id] = _replacing(_untold(target, spans), names.values.get(target.id))
        else:
            _assign(target, _untold(target, spans), names, spans)


def _targets(statement: ast.stmt) -> Iterator[ast.expr]:
    for part in ast.walk(statement):
        match part:
            case ast.Assign(targets=targets):
                yield from targets
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                yield target


def _untold(node: ast.expr, spans: Spans) -> Setting:
    text = spans.text(node)
    return Setting((), text, spans.where(node), text, known=False)


def _untold_argument(argument: ast.arg, spans: Spans) -> Setting:
    return Setting((), argument.arg, spans.source.where(0), argument.arg, known=False)
