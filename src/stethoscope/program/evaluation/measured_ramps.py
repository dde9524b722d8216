"""Inputs of a measurement that a ramp of training makes easier or harder.

A ramp is a share of training that is done: a progress divided by a number, or bounded. A progress is what a
loop that trains counts, an attribute that methods count up, or what a framework calls the epoch. What counts
is whether it reaches what a network is given where it is measured, or a sample of a held-out loader.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.batches import batches, is_loader, items
from stethoscope.program.data.ingredients import few_of_each, ingredients, part_path
from stethoscope.program.data.loader_pairs import LoaderPair, every_loader_pair
from stethoscope.program.evaluation.evaluations import Evaluation, Walk, walks
from stethoscope.program.evaluation.followed_progress import PROGRESS, Following
from stethoscope.program.evaluation.ramps import BOUNDING, SPEAKING, set_back
from stethoscope.program.index import Index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.events import Assignment, Call
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.framework_bases import kept_argument
from stethoscope.program.walk.values import Applied, Choice, Delayed, Instance, Leaf, Part, Site, Value

ARITHMETIC = frozenset({"+", "-", "*", "**", "//", "neg", "float", "int", "round"})
MOST_LOOKED = 40  # values of one sum
NOT_COUNTING = frozenset({"__init__", "forward", "__getitem__", "__iter__", "__next__"})


@remembered
def measured_ramps(index: Index, settings: SettingsTree) -> tuple[Following, ...]:
    """The ramps that what is measured depends on."""
    found: dict[object, Following] = {}
    counted = frozenset(_counted(index))
    rounds: frozenset[int] = frozenset()
    for walk in walks(index, settings):
        training = walk.training_nodes
        rounds |= training
        for evaluation in walk.evaluations:
            for following in _in_input(walk, evaluation, counted, training):
                found.setdefault(following.where, following)
    for pair in every_loader_pair(index, settings):
        for ramp, progress in _in_samples(pair.run, pair.judged, counted, rounds):
            function = pair.judged.site.text.partition("\n")[0][:40]
            following = Following(function, _text(ramp), progress, ramp.site.where, _data_made(pair).where)
            found.setdefault(following.where, following)
    return tuple(found.values())


def _counted(index: Index) -> Iterator[str]:
    """The attributes that objects count up: `self.seen += 1`."""
    for cls in index.classes:
        back = set_back(cls)
        for name, method in cls.methods.items():
            for node in own_nodes(method.node, ast.AugAssign) if name not in NOT_COUNTING else ():
                match node:
                    case ast.AugAssign(
                        op=ast.Add(), target=ast.Attribute(attr=attribute), value=ast.Constant()
                    ) if attribute not in back:
                        yield attribute


def _in_input(
    walk: Walk, evaluation: Evaluation, counted: frozenset[str], training: frozenset[int]
) -> Iterator[Following]:
    run, call = walk.trace.run, evaluation.forward.event
    if not isinstance(call, Call) or not call.args:
        return
    run.steps = max(run.steps, STEPS // 4)
    function = evaluation.function
    spoken = function.spoken if function is not None else "the evaluation"
    try:
        for ramp, progress in _ramps(run, call.args[0], counted, training):
            yield Following(spoken, _text(ramp), progress, ramp.site.where, call.site.where)
    except (Exhausted, RecursionError):
        return


def _in_samples(
    run: Execution, loader: Applied, counted: frozenset[str], training: frozenset[int]
) -> Iterator[tuple[Applied, str]]:
    run.steps = max(run.steps, STEPS // 4)
    try:
        for made in (*items(run, loader), *batches(run, loader)):
            yield from _ramps(run, made, counted, training)
    except (Exhausted, RecursionError):
        return


def _data_made(pair: LoaderPair) -> Site:
    """Where the held-out data are told what to do: where their data set is made, else their loader."""
    data = kept_argument(pair.judged, "dataset")
    for event in pair.events if isinstance(data, Instance) else ():
        if isinstance(event, Assignment) and event.value is data:
            return event.site
    return pair.judged.site


def _text(ramp: Applied) -> str:
    return ramp.site.text.partition("\n")[0][:80]


def _ramps(
    run: Execution, value: Value, counted: frozenset[str], training: frozenset[int]
) -> Iterator[tuple[Applied, str]]:
    for one in ingredients(run, value, leading=_leading):
        if isinstance(one, Applied) and _is_share(one):
            top = one.args[:1] if one.callee == "/" else one.args
            progress = next((name for arg in top for name in _progress(run, arg, counted, training)), "")
            if progress:
                yield one, progress


def _leading(value: Value) -> Iterator[Value]:
    """What a value is surely made from, without what only names or seeds it."""
    if isinstance(value, Choice) or is_loader(value):
        return
    if isinstance(value, Part) and is_loader(part_path(value)[0]):
        return
    if isinstance(value, Applied | Delayed):
        name = value.callee if isinstance(value, Applied) else getattr(value.callee, "function", None)
        last = name.rpartition(".")[2] if isinstance(name, str) else getattr(name, "name", "")
        if last in SPEAKING:
            return
    yield from few_of_each(value)


def _is_share(value: Applied) -> bool:
    return value.callee == "/" or value.callee.rpartition(".")[2] in BOUNDING


def _progress(
    run: Execution, value: Value, counted: frozenset[str], training: frozenset[int]
) -> Iterator[str]:
    """The names of the progresses that a sum is made of."""
    waiting, seen = [value], 0
    while waiting and seen < MOST_LOOKED:
        one, seen = run.force(waiting.pop()), seen + 1
        match one:
            case Leaf(name=name):
                loop = run.counted_by.get(id(one))
                is_held = loop is None or not _is_target(loop[1], name)
                if name in counted and is_held:
                    yield name
                elif loop is not None and id(loop[1]) in training:
                    yield _spoken(loop[1], name)
            case Part(key=str() as key) if PROGRESS.match(key):
                yield key
            case Applied(callee=callee, args=args) if callee in ARITHMETIC:
                waiting.extend(args)  # but not into another share, which speaks for itself
            case Choice(options=options):
                waiting.extend(options)


def _is_target(loop: ast.AST, name: str) -> bool:
    """Whether a loop gives the name itself, so that no object counts under it."""
    target = getattr(loop, "target", None)
    is_plain = isinstance(loop, ast.For) and not (isinstance(target, ast.Name) and target.id != name)
    return is_plain or name == "index"


def _spoken(loop: ast.AST, name: str) -> str:
    target = getattr(loop, "target", None)
    if isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]  # of enumerate
    return target.id if isinstance(target, ast.Name) else name
