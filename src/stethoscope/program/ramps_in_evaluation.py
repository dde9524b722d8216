"""Ramps that follow the progress of training and that a measurement of held-out data goes through.

A ramp is arithmetic on the progress: `0.5 * min(1.0, epoch / warm)`. It is met in the source that an
evaluation reaches: functions that get the epoch, properties and methods of objects that count the steps,
losses that are told the epoch, and data sets of evaluation that are set to a ramp of the training loop.
What asks whether it trains, and what is only printed or logged, is left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from stethoscope.program.effects import effects, own_nodes
from stethoscope.program.evaluation import DATA_WORDS, TRAINING_WORDS, names_in
from stethoscope.program.evaluation_entries import EvaluationEntry, evaluation_entries
from stethoscope.program.followed_progress import DIFFICULTY, FIXED_DIFFICULTY, PROGRESS, Following
from stethoscope.program.index import Class, Function, Index, Module
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.roles import Role, class_role
from stethoscope.program.values import Site
from stethoscope.run import Source

DEPTH = 5  # functions called one from another
MOST_FUNCTIONS = 400  # followed from one evaluation

# fmt: off
EVALUATION_NAMES = frozenset({
    "validate", "validation", "valid", "val", "evaluate", "evaluation", "eval", "test", "testing", "dev",
})
SPEAKING = frozenset({
    "print", "log", "info", "debug", "warning", "add_scalar", "add_scalars", "set_description", "set_postfix",
    "write", "format", "log_dict", "log_metrics", "save", "tqdm", "set_postfix_str", "add_image", "record",
    "log_scalar", "track", "report", "manual_seed", "seed", "set_epoch", "Generator",
})
ASKING = frozenset({
    "train", "training", "mode", "phase", "split", "stage", "prefix", "eval", "evaluating", "validating",
    "validation", "val", "test", "inference",
})
# What follows the progress of training and is no difficulty of what is measured.
OTHER_RAMPS = frozenset({
    "lr", "decay", "momentum", "ema", "eta", "tau", "temp", "temperature", "alpha", "gamma", "patience",
    "eps", "epsilon", "wd", "rate", "percent", "pct", "elapsed", "speed", "time",
})
RECORDS = frozenset({
    "meter", "meters", "metric", "metrics", "logger", "log", "logs", "bar", "pbar", "history", "stats",
    "writer", "results", "scores", "losses",
})
SPOKEN_PROGRESS = re.compile(r"self\.\w*(?:epoch|step|iter|progress)")
BOUNDING = frozenset({"min", "max", "clamp", "clip", "cos", "exp", "sin", "minimum", "maximum"})
# fmt: on


@remembered
def ramps_in_evaluation(index: Index) -> tuple[Following, ...]:
    """The ramps of training that evaluations go through."""
    search = _Search(index)
    found: dict[object, Following] = {}
    for entry in evaluation_entries(index):
        for ramp in search.reached(entry):
            found.setdefault(ramp.site.where, _following(entry, ramp))
    for function in effects(index).training:
        for ramp in search.set_in(list(ast.walk(function.node)), function.source):
            found.setdefault(ramp.site.where, _following(EvaluationEntry(function), ramp))
    for module in index.modules.values():
        if "backward" in module.source.text:
            for ramp in search.set_in(list(_own(module)), module.source):
                found.setdefault(ramp.site.where, _following(EvaluationEntry(module), ramp))
    return tuple(found.values())


@dataclass(frozen=True, slots=True, eq=False)
class _Ramp:
    site: Site
    progress: str
    reached_at: Site


def _following(entry: EvaluationEntry, ramp: _Ramp) -> Following:
    start = entry.start
    spoken = start.spoken if isinstance(start, Function) else start.name
    text = ramp.site.text.partition("\n")[0][:80]
    return Following(spoken, text, ramp.progress, ramp.site.where, ramp.reached_at.where)


def _own(module: Module) -> Iterator[ast.AST]:
    """The nodes of a module's own statements."""
    for statement in module.source.tree.body:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from ast.walk(statement)


class _Search:
    """Follows names from evaluations to ramps."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._counted: dict[int, frozenset[str]] = {}

    # From an evaluation to the functions that it calls

    def reached(self, entry: EvaluationEntry) -> Iterator[_Ramp]:
        """The ramps that an evaluation goes through."""
        start = entry.start
        source = start.source
        if isinstance(start, Function):
            nodes = list(own_nodes(start.node))
            cls = start.owner
        else:
            nodes, cls = list(_own(start)), None
        if entry.lines:
            nodes = [node for node in nodes if _is_in(node, entry.lines)]
        if not _measures_held_out(entry, nodes):
            return
        known = _progress_names(nodes) if entry.lines else set(filter(PROGRESS.match, _parameters(start)))
        if entry.lines:
            known |= {name for node in nodes for name in names_in(node) if PROGRESS.match(name)}
        seen: set[tuple[int, frozenset[str]]] = set()
        yield from self._followed(nodes, source, cls, frozenset(known), seen, None, DEPTH)

    def _followed(
        self,
        nodes: list[ast.AST],
        source: Source,
        cls: Class | None,
        known: frozenset[str],
        seen: set[tuple[int, frozenset[str]]],
        at: Site | None,
        depth: int,
    ) -> Iterator[_Ramp]:
        skipped = _under_question(nodes) | _spoken(nodes, known)
        live = [node for node in nodes if id(node) not in skipped]
        for ramp in _ramps(live, known, self._counters(cls)):
            yield _Ramp(Site(source, ramp.node), ramp.progress, at or Site(source, ramp.node))
        for node in live if depth else ():
            for function, given in self._asked(node, cls, known):
                key = (id(function.node), given)
                if key in seen or len(seen) > MOST_FUNCTIONS or _is_left_alone(self.index, function):
                    continue
                seen.add(key)
                inner = list(own_nodes(function.node))
                here = at or Site(source, node)
                yield from self._followed(
                    inner, function.source, function.owner, given, seen, here, depth - 1
                )

    def _asked(
        self, node: ast.AST, cls: Class | None, known: frozenset[str]
    ) -> Iterator[tuple[Function, frozenset[str]]]:
        """The functions that a node calls or reads, and which of their parameters get the progress."""
        if isinstance(node, ast.Call):
            name = str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))
            if name in SPEAKING:
                return
            for function in self._functions(name, node.func, cls):
                yield function, _handed(node, function, known)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            properties = self._properties.get(node.attr, ())
            if len(properties) == 1:
                yield properties[0], frozenset()

    def _functions(self, name: str, func: ast.expr, cls: Class | None) -> Iterator[Function]:
        if isinstance(func, ast.Attribute) and cls is not None and isinstance(func.value, ast.Name):
            own = self.index.method(cls, name) if func.value.id == "self" else None
            if own is not None:
                yield own
                return
        made = self._made.get(name)
        if made is not None:
            called = self.index.method(made, "forward") or self.index.method(made, "__call__")
            if called is not None:
                yield called
                return
        found = [one for one in self.index.functions_named(name) if one.name != "__init__"]
        if len(found) == 1:
            yield found[0]

    @cached_property
    def _made(self) -> dict[str, Class]:
        """The classes of the objects that names are given: `self.criterion = HardestFirst(...)`."""
        classes = {cls.name: cls for cls in self.index.classes if _is_called_with_progress(cls)}
        found: dict[str, Class] = {}
        for module in self.index.modules.values() if classes else ():
            if not any(f"{name}(" in module.source.text for name in classes):
                continue
            for node in ast.walk(module.source.tree):
                for target, value in _pairs(node):
                    made = classes.get(_called(value))
                    name = getattr(target, "attr", None) or getattr(target, "id", None)
                    if made is not None and isinstance(name, str):
                        found[name] = made
        return found

    @cached_property
    def _properties(self) -> dict[str, list[Function]]:
        found: dict[str, list[Function]] = {}
        for function in self.index.functions:
            if function.owner is not None and "property" in function.decorators:
                found.setdefault(function.name, []).append(function)
        return found

    def _counters(self, cls: Class | None) -> frozenset[str]:
        """The attributes of a class that one of its methods counts up, step by step."""
        if cls is None:
            return frozenset()
        if id(cls) not in self._counted:
            self._counted[id(cls)] = frozenset(_counted_up(cls))
        return self._counted[id(cls)]

    # From the loop that trains to what evaluation is given

    def set_in(self, nodes: list[ast.AST], source: Source) -> Iterator[_Ramp]:
        """The ramps of a training loop that held-out data are set to: `val_set.set_level(level)`."""
        known = frozenset(_progress_names(nodes))
        if not known:
            return
        spoken = _spoken(nodes, known)
        live = [node for node in nodes if id(node) not in spoken]
        ramps = [*_ramps(live, known, frozenset()), *self._called_ramps(live, known)]
        names = {name: ramp for ramp in ramps for name in _kept_under(nodes, ramp.node)}
        held_out = _held_out_names(nodes)
        for node in nodes:
            receiver, given = _set(node)
            if receiver is None or not held_out & _plain_names(receiver) or _keeps_records(receiver):
                continue
            for ramp in ramps:
                inside = any(inner is ramp.node for value in given for inner in ast.walk(value))
                named = {n for value in given for n in _plain_names(value) if names.get(n) is ramp}
                if (inside or named) and not _is_set_otherwise(nodes, receiver, node):
                    yield _Ramp(Site(source, node), ramp.progress, Site(source, ramp.node))

    def _called_ramps(self, nodes: list[ast.AST], known: frozenset[str]) -> Iterator[_Found]:
        """The calls that are told the progress and answer with a ramp: `level = curriculum.level(epoch)`."""
        for node in nodes:
            if not isinstance(node, ast.Call) or OTHER_RAMPS & set(words(_called(node))):
                continue
            for function, given in self._asked(node, None, known):
                returned = any(isinstance(one, ast.Return) and one.value for one in own_nodes(function.node))
                if given and returned and any(_ramps(list(own_nodes(function.node)), given, frozenset())):
                    yield _Found(node, next((name for name in names_in(node) if name in known), min(known)))


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    node: ast.expr
    progress: str


def _ramps(nodes: list[ast.AST], known: frozenset[str], counters: frozenset[str]) -> Iterator[_Found]:
    """The arithmetic on the progress among nodes."""
    other = {
        id(inner)
        for node in nodes
        for target, value in _pairs(node)
        if _is_other(target)
        for inner in ast.walk(value)
    }
    bounded = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.Call) and _called(node) in BOUNDING
        for inner in ast.walk(node)
    }
    unread = _unread(nodes)
    for node in nodes:
        if not isinstance(node, ast.BinOp) or id(node) in other or id(node) in unread:
            continue
        is_share = isinstance(node.op, ast.Div)
        if not is_share and not (
            isinstance(node.op, ast.Mult | ast.Pow | ast.FloorDiv) and id(node) in bounded
        ):
            continue
        sides = [node.left] if isinstance(node.op, ast.Div | ast.FloorDiv) else [node.left, node.right]
        for side in sides:
            progress = _progress(side, known, counters if id(node) in bounded else frozenset())
            if progress:
                yield _Found(node, progress)
                break


def _unread(nodes: list[ast.AST]) -> set[int]:
    """What is given to a name that nothing here reads but what speaks of it."""
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return {
        id(inner)
        for node in nodes
        for target, value in _pairs(node)
        if isinstance(target, ast.Name) and target.id not in read
        for inner in ast.walk(value)
    }


def _spoken(nodes: list[ast.AST], known: frozenset[str]) -> set[int]:
    """What is only printed, logged or made into a text: numbers, and what the progress alone makes."""
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            found.update(id(inner) for inner in ast.walk(node))
        if not isinstance(node, ast.Call) or _called(node) not in SPEAKING:
            continue
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            is_measured = isinstance(value, ast.Call) and not any(_is_progress(a, known) for a in value.args)
            if not is_measured:
                found.update(id(inner) for inner in ast.walk(value))
    return found


def _progress(side: ast.expr, known: frozenset[str], counters: frozenset[str]) -> str:
    for node in ast.walk(side):
        if isinstance(node, ast.Call):
            return ""  # a computed number is not the progress itself
        if isinstance(node, ast.Name) and node.id in known:
            return node.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            is_counted = (
                node.attr in counters and isinstance(node.value, ast.Name) and node.value.id == "self"
            )
            if is_counted or (PROGRESS.match(node.attr) and not node.attr.endswith(("steps", "iters"))):
                return node.attr
    return ""


def _is_other(target: ast.expr) -> bool:
    named = [word for name in names_in(target) for word in words(name)]
    return any(word in OTHER_RAMPS for word in named[-1:]) or bool({"lr", "ema", "momentum"} & set(named))


def _progress_names(nodes: list[ast.AST]) -> set[str]:
    """The names of epochs and steps that loops count: their variables, and what is counted up by one."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            called = _called(node.iter)
            first = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
            is_counted = called in {"range", "trange", "count"} or (
                called == "enumerate" and isinstance(node.target, ast.Tuple)
            )
            if is_counted and isinstance(first, ast.Name) and PROGRESS.match(first.id):
                found.add(first.id)
        match node:
            case ast.AugAssign(target=ast.Name(id=name)) if PROGRESS.match(name):
                found.add(name)
    return found


def _counted_up(cls: Class) -> Iterator[str]:
    for name, method in cls.methods.items():
        for node in ast.walk(method.node) if name not in {"__init__", "forward"} else ():
            match node:
                case ast.AugAssign(
                    op=ast.Add(), target=ast.Attribute(attr=attribute), value=ast.Constant(value=1)
                ):
                    yield attribute


def _is_called_with_progress(cls: Class) -> bool:
    """Whether what an object does when it is called goes by epochs or steps that it keeps."""
    called = cls.methods.get("forward") or cls.methods.get("__call__")
    if called is None or not SPOKEN_PROGRESS.search(called.source.text):
        return False
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and SPOKEN_PROGRESS.match(f"self.{node.attr}")
        for name, method in cls.methods.items()
        if name != "__init__"
        for node in own_nodes(method.node)
    )


def _parameters(start: Function | Module) -> tuple[str, ...]:
    return start.parameters if isinstance(start, Function) else ()


def _handed(call: ast.Call, function: Function, known: frozenset[str]) -> frozenset[str]:
    """The parameters of a function that a call gives the progress itself, in whatever arithmetic."""
    names = [name for name in function.parameters if name not in {"self", "cls"}]
    given = dict(zip(names, call.args, strict=False))
    given.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg in names})
    return frozenset(name for name, value in given.items() if _is_progress(value, known))


def _is_progress(value: ast.expr, known: frozenset[str]) -> bool:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub):
        return _is_progress(value.left, known)
    if isinstance(value, ast.Name):
        return value.id in known
    return isinstance(value, ast.Attribute) and bool(PROGRESS.match(value.attr))


def _under_question(nodes: list[ast.AST]) -> set[int]:
    """What happens in one of training and evaluation only, or behind a way out for one of them."""
    found: set[int] = set()
    for node in nodes:
        if not isinstance(node, ast.If | ast.IfExp):
            continue
        named = {word for name in names_in(node.test) for word in words(name)}
        if not named & ASKING:
            continue
        found.update(id(inner) for inner in ast.walk(node))
        if any(isinstance(inner, ast.Return) for inner in ast.walk(node)):
            return {id(inner) for inner in nodes}
    return found


def _is_left_alone(index: Index, function: Function) -> bool:
    """Averages and schedules follow the progress by their nature, and a final difficulty does not."""
    owner = function.owner
    if owner is not None and class_role(index, owner) in {Role.AVERAGE, Role.SCHEDULER, Role.OPTIMIZER}:
        return True
    return bool(FIXED_DIFFICULTY.search(function.name)) or _is_other(ast.Name(function.name, ast.Load()))


def _measures_held_out(entry: EvaluationEntry, nodes: list[ast.AST]) -> bool:
    """Whether an evaluation is one by its name, or goes through data that are called held-out."""
    start = entry.start
    if isinstance(start, Function):
        named = set(words(start.name))
        if named & EVALUATION_NAMES and not named & TRAINING_WORDS and not entry.lines:
            return True
    for node in nodes:
        if isinstance(node, ast.Assign) and entry.lines:
            named = {word for target in node.targets for name in names_in(target) for word in words(name)}
            if named & DATA_WORDS and not named & TRAINING_WORDS:
                return True
        if isinstance(node, ast.For | ast.comprehension):
            named = {word for name in names_in(node.iter) for word in words(name)}
            if named & DATA_WORDS and not named & TRAINING_WORDS:
                return True
    return False


def _is_in(node: ast.AST, lines: tuple[tuple[int, int], ...]) -> bool:
    if isinstance(node, ast.comprehension):
        node = node.iter
    line = getattr(node, "lineno", 0)
    return any(first <= line <= last for first, last in lines)


def _pairs(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment with what each is given."""
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))


def _plain_names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} | {
        inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)
    }


def _kept_under(nodes: list[ast.AST], ramp: ast.expr) -> Iterator[str]:
    for node in nodes:
        for target, value in _pairs(node):
            if isinstance(target, ast.Name) and any(inner is ramp for inner in ast.walk(value)):
                yield target.id


def _held_out_names(nodes: list[ast.AST]) -> set[str]:
    """The names of held-out data, and of what runs over them together with others."""
    found: set[str] = set()
    for node in nodes:
        for name in _plain_names(node) if isinstance(node, ast.Name | ast.Attribute) else ():
            if set(words(name)) & DATA_WORDS and not set(words(name)) & TRAINING_WORDS:
                found.add(name)
    for node in nodes:
        match node:
            case ast.For(target=ast.Name(id=name), iter=ast.Tuple() | ast.List() as listed):
                found |= {name} if found & _plain_names(listed) else set()
    return found


def _set(node: ast.AST) -> tuple[ast.expr | None, list[ast.expr]]:
    """The object that something is set on, and what: `data.set_level(level)`, `data.level = level`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        named = set(words(node.func.attr))
        if named & {"set", "update", "ramp", "difficulty", "curriculum"} or DIFFICULTY.search(node.func.attr):
            return node.func.value, [*node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
        return node.targets[0].value, [node.value]
    return None, []


def _keeps_records(receiver: ast.expr) -> bool:
    """`val_meter.update(...)` is told what was measured, and is no data."""
    return any(RECORDS & set(words(name)) for name in _plain_names(receiver))


def _is_set_otherwise(nodes: list[ast.AST], receiver: ast.expr, besides: ast.AST) -> bool:
    """Whether the same object is set to something else too, as before it is measured."""
    text = ast.unparse(receiver)
    for node in nodes:
        other, _ = _set(node)
        if node is not besides and other is not None and ast.unparse(other) == text:
            return True
    return False
