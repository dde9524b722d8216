"""Ramps that follow the progress of training and that a measurement of held-out data goes through.

A ramp is arithmetic on the progress: `0.5 * min(1.0, epoch / warm)`. It is met in the source that an
evaluation reaches: functions that get the epoch, properties and methods of objects that count the steps,
losses that are told the epoch, and data sets of evaluation that are set to a ramp of the training loop.
What asks whether it trains, and what is only printed or logged, is left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from stethoscope.program.evaluation.evaluation_entries import EvaluationEntry, evaluation_entries
from stethoscope.program.evaluation.evaluations import names_in
from stethoscope.program.evaluation.followed_progress import FIXED_DIFFICULTY, PROGRESS, Following, is_place
from stethoscope.program.evaluation.held_out_names import held_out_names, measures_held_out, plain_names
from stethoscope.program.evaluation.ramps import (
    OTHER_RAMPS,
    SPEAKING,
    FoundRamp,
    called_name,
    given_pairs,
    is_other_ramp,
    is_progress,
    only_spoken,
    progress_names,
    ramps_among,
    set_back,
)
from stethoscope.program.evaluation.set_levels import is_set_otherwise, keeps_records, kept_under, set_on
from stethoscope.program.index import Class, Function, Index, Module
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import Role, class_role
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.effects import effects
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

DEPTH = 5  # functions called one from another
MOST_FUNCTIONS = 400  # followed from one evaluation
# fmt: off
ASKING = frozenset({
    "train", "training", "mode", "phase", "split", "stage", "prefix", "eval", "evaluating", "validating",
    "validation", "val", "test", "inference",
})
# fmt: on
SPOKEN_PROGRESS = re.compile(r"self\.\w*(?:epoch|step|iter|progress)")


@remembered
def ramps_in_evaluation(index: Index) -> tuple[Following, ...]:
    """The ramps of training that evaluations go through."""
    search = _Search(index)
    found: dict[object, Following] = {}
    for entry in evaluation_entries(index):
        for ramp in search.reached(entry):
            found.setdefault(ramp.site.where, _following(entry, ramp))
    training = effects(index).training
    for function in index.functions:
        if function not in training and is_test(function.source):
            continue
        told = frozenset(filter(is_place, function.parameters))
        nodes_of = all_nodes if function in training else own_nodes
        if told or _speaks_of_progress(nodes_of(function.node, ast.For, ast.AugAssign, ast.Attribute)):
            for ramp in search.set_in(list(nodes_of(function.node)), function.source, told):
                found.setdefault(ramp.site.where, _following(EvaluationEntry(function), ramp))
    for module in index.modules.values():
        own = list(_own(module)) if "backward" in module.source.text else []
        if _speaks_of_progress(own):
            for ramp in search.set_in(own, module.source):
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


def _speaks_of_progress(nodes: Sequence[ast.AST]) -> bool:
    asked = (node.attr for node in nodes if isinstance(node, ast.Attribute))
    return any(map(PROGRESS.match, asked)) or bool(progress_names(nodes))


def _own(module: Module) -> Iterator[ast.AST]:
    """The nodes of a module's own statements."""
    for statement in module.source.tree.body:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from all_nodes(statement)


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
        if not measures_held_out(entry, nodes):
            return
        known = progress_names(nodes) if entry.lines else set(filter(is_place, _parameters(start)))
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
        skipped = _under_question(nodes) | only_spoken(nodes, known)
        live = [node for node in nodes if id(node) not in skipped]
        for ramp in ramps_among(live, known, self._counters(cls)):
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
            for node in all_nodes(module.source.tree):
                for target, value in given_pairs(node):
                    made = classes.get(called_name(value))
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

    def set_in(
        self, nodes: list[ast.AST], source: Source, told: frozenset[str] = frozenset()
    ) -> Iterator[_Ramp]:
        """The ramps of a training loop, or of a hook that is told the progress, that held-out data are set
        to: `val_set.set_level(level)`."""
        known = told | progress_names(nodes)
        spoken = only_spoken(nodes, known)
        live = [node for node in nodes if id(node) not in spoken]
        ramps = [*ramps_among(live, known, frozenset()), *self._called_ramps(live, known)]
        names = {name: ramp for ramp in ramps for name in kept_under(nodes, ramp.node)}
        held_out = held_out_names(nodes)
        for node in nodes:
            receiver, given = set_on(node)
            if receiver is None or not held_out & plain_names(receiver) or keeps_records(receiver):
                continue
            for ramp in ramps:
                inside = any(inner is ramp.node for value in given for inner in all_nodes(value))
                named = {n for value in given for n in plain_names(value) if names.get(n) is ramp}
                if (inside or named) and not is_set_otherwise(nodes, receiver, node):
                    yield _Ramp(Site(source, node), ramp.progress, Site(source, ramp.node))

    def _called_ramps(self, nodes: list[ast.AST], known: frozenset[str]) -> Iterator[FoundRamp]:
        """The calls that are told the progress and answer with a ramp: `level = curriculum.level(epoch)`."""
        for node in nodes:
            if not isinstance(node, ast.Call) or OTHER_RAMPS & set(words(called_name(node))):
                continue
            for function, given in self._asked(node, None, known):
                returned = any(isinstance(one, ast.Return) and one.value for one in own_nodes(function.node))
                if (
                    given
                    and returned
                    and any(ramps_among(list(own_nodes(function.node)), given, frozenset()))
                ):
                    progress = next((name for name in names_in(node) if name in known), min(given))
                    yield FoundRamp(node, progress)


def _counted_up(cls: Class) -> Iterator[str]:
    """What counts on from the beginning; what is set back to a number counts rounds of something else."""
    back = set_back(cls)
    yield from (name for name in _counting(cls) if name not in back)


def _counting(cls: Class) -> Iterator[str]:
    for name, method in cls.methods.items():
        for node in all_nodes(method.node) if name not in {"__init__", "forward"} else ():
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
    return frozenset(name for name, value in given.items() if is_progress(value, known))


def _under_question(nodes: list[ast.AST]) -> set[int]:
    """What happens in one of training and evaluation only, or behind a way out for one of them."""
    found: set[int] = set()
    for node in nodes:
        if not isinstance(node, ast.If | ast.IfExp):
            continue
        named = {word for name in names_in(node.test) for word in words(name)}
        if not named & ASKING:
            continue
        found.update(id(inner) for inner in all_nodes(node))
        if any(isinstance(inner, ast.Return) for inner in all_nodes(node)):
            return {id(inner) for inner in nodes}
    return found


def _is_left_alone(index: Index, function: Function) -> bool:
    """Averages and schedules follow the progress by their nature, and a final difficulty does not."""
    owner = function.owner
    if owner is not None and class_role(index, owner) in {Role.AVERAGE, Role.SCHEDULER, Role.OPTIMIZER}:
        return True
    return bool(FIXED_DIFFICULTY.search(function.name)) or is_other_ramp(ast.Name(function.name, ast.Load()))


def _is_in(node: ast.AST, lines: tuple[tuple[int, int], ...]) -> bool:
    if isinstance(node, ast.comprehension):
        node = node.iter
    line = getattr(node, "lineno", 0)
    return any(first <= line <= last for first, last in lines)
