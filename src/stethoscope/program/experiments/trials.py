"""What a network turns out to do when it is tried: which sample, place, argument and layer reaches what.

Each network of the training is made with the program's own sizes, gets weights and inputs drawn at random,
and is asked again with one thing changed. An experiment does not care how the code is spelled.
"""

from __future__ import annotations

import ast
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from stethoscope.program.experiments.inputs import PLACES, Fitting, fitting, outputs
from stethoscope.program.experiments.interpreter import Interpreter
from stethoscope.program.experiments.layers import Layer, Packed
from stethoscope.program.experiments.padding_trials import padding_told_in_vain
from stethoscope.program.experiments.running import (
    SECONDS,
    SECONDS_OF_ONE,
    SECONDS_TO_FIT,
    STEPS,
    WORK,
    Unlisted,
    Watch,
)
from stethoscope.program.experiments.subjects import Subject, subjects
from stethoscope.program.experiments.things import Array, Object, Spot
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.bounded_arrays import CannotCompute, TooLarge

Answer = TypeVar("Answer")
SMALLEST = 1e-7  # a change, in parts of the output's size, that is no rounding
_SPREAD = re.compile(r"(?i)std_?dev|\b(?:std|var)\((?:\w+, )?(?:dim=)?\[?0|cov\(|corrcoef\(")
_OVER_ROWS = re.compile(
    r"\b(?:mean|sum|max|amax|logsumexp)\((?:[\w.]+, )?(?:dim=|axis=)?[\[(]?0\b|\b(?:mean|sum)\(\)"
)
WIDE = 16  # an axis of this length is hardly there twice by chance
SMALLER = (1, 8, 4, 2)  # what large sizes are divided by, in turn, where a network is too large as it is
# Lengths of sequences say nothing where an experiment's are so short that one place holds them.
LENGTHS = frozenset({"len", "lens", "length", "lengths"})
MOST_LAYERS = 30  # that are tried one by one


@dataclass(frozen=True, slots=True)
class Turned:
    """Softmax weights that are summed along another axis than they were made to sum to one along."""

    spot: Spot
    masked: bool  # they were masked behind the softmax, and sum to less than one


@dataclass(frozen=True, slots=True)
class Scrambled:
    """A reshape after which an axis of the input stands elsewhere, without having been moved there."""

    spot: Spot
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """What was found out about one network."""

    cls: Class
    forward: Function
    fitting: Fitting
    sizes: tuple[tuple[int, ...], ...]  # of what comes out
    layers: tuple[Layer, ...]
    mixes: tuple[bool | None, bool | None]  # whether samples, and places, reach each other
    told: tuple[bool | None, bool | None]  # whether equal samples, and equal places, are told apart
    ahead: tuple[int, ...]  # how many places ahead the first output that keeps its places looks
    idle_arguments: tuple[str, ...]
    idle_layers: tuple[Layer, ...]
    turned: tuple[Turned, ...] = ()
    scrambled: tuple[Scrambled, ...] = ()
    pairs: bool = False  # scores of all samples against all were met
    attends: bool = False  # each of several things weighed all of them
    compares: bool = False  # every sample was set against every other by broadcasting
    measures_batch: bool = False  # a spread over the samples is taken on purpose
    padding: str = ""  # the parameter that tells of padding, where more of it changes answers all the same
    pools_rows: bool = False  # a mean, sum or maximum over rows is taken: they may be parts of one sample


@dataclass
class _Seen(Watch):
    """Softmaxes, products and reshapes of one pass."""

    lengths: frozenset[int] = frozenset()
    soft: list[tuple[Array, int, Spot]] = field(default_factory=list)
    turned: list[Turned] = field(default_factory=list)
    scrambled: list[Scrambled] = field(default_factory=list)
    compares: bool = False
    samples: int = 0
    keys: set[int] = field(default_factory=set)  # numbers of keys that attention of a library had
    is_silenced: bool = False

    def attended(self, keys: int) -> None:
        self.keys.add(keys)

    def silenced(self) -> None:
        self.is_silenced = True

    def is_alone(self) -> bool:
        """Whether a softmax was taken over one thing: what was invented as inputs hardly fits."""
        return 1 in self.keys or any(result.shape[axis] == 1 for result, axis, _ in self.soft)

    def attends(self) -> bool:
        """Whether each of several things weighed all of them, and nothing was switched off."""
        tables = (result.shape[-2:] for result, _, _ in self.soft if result.ndim > 2)
        is_table = any(rows == columns > 1 for rows, columns in tables)
        return not self.is_silenced and (is_table or any(keys > 1 for keys in self.keys))

    def broadcast(self, left: Array, right: Array) -> None:
        if left.ndim == right.ndim >= 2:
            heads = {left.shape[:2], right.shape[:2]}
            self.compares |= heads == {(1, self.samples), (self.samples, 1)}

    def softmax(self, result: Array, axis: int, spot: Spot) -> None:
        self.soft.append((result, axis % result.ndim, spot))

    def product(self, subscripts: str | None, operands: Sequence[Array], spot: Spot) -> None:
        for place, operand in enumerate(operands):
            axes = _summed(subscripts, place, operands)
            if axes is not None and isinstance(operand, np.ndarray) and operand.ndim >= 3:
                self._weigh(operand, axes)

    def _weigh(self, weights: Array, axes: tuple[int, ...]) -> None:
        for result, axis, spot in self.soft:
            if result.shape != weights.shape or (axis in axes and np.array_equal(result, weights)):
                continue
            is_same = np.array_equal(result, weights)
            is_part = bool(np.all((weights == result) | (weights == 0)))
            if is_same and weights.shape[axes[0]] > 1:
                self.turned.append(Turned(spot, masked=False))
            elif is_part and not is_same and axis in axes and np.any(weights):
                self.turned.append(Turned(spot, masked=True))

    def reshape(self, before: Array, after: Array, spot: Spot) -> None:
        wide = frozenset(size for size in before.shape if size >= WIDE)
        if _is_scrambled(before.shape, after.shape, self.lengths | wide):
            self.scrambled.append(Scrambled(spot, before.shape, after.shape))


def _summed(subscripts: str | None, place: int, operands: Sequence[Array]) -> tuple[int, ...] | None:
    """The axes of an operand that a product sums along, and another operand has too."""
    if subscripts is None:
        return ((operands[0].ndim - 1,), (operands[1].ndim - 2,))[place]
    given, arrow, wanted = subscripts.replace(" ", "").partition("->")
    groups = given.split(",")
    if not arrow or "." in subscripts or len(groups) < 2:
        return None
    others = "".join(group for i, group in enumerate(groups) if i != place)
    axes = tuple(i for i, name in enumerate(groups[place]) if name not in wanted and name in others)
    return axes or None


def _is_scrambled(before: Sequence[int], after: Sequence[int], lengths: frozenset[int]) -> bool:
    """Whether an axis of a known length takes up other elements behind a reshape than before it."""
    if _is_shift(before, after):
        return False
    for length in lengths:
        was, now = _spans(before, length), _spans(after, length)
        if len(was) == 1 and len(now) == 1 and was != now:
            return True
    return False


def _is_shift(before: Sequence[int], after: Sequence[int]) -> bool:
    """Whether the first or last two axes are swapped and differ by one, as when padded scores are shifted."""
    apart = [place for place, sizes in enumerate(zip(before, after, strict=False)) if len(set(sizes)) > 1]
    if len(before) != len(after) or len(apart) != 2:
        return False
    one, other = apart
    is_outer = (one, other) in {(0, 1), (len(before) - 2, len(before) - 1)}
    return is_outer and before[one] == after[other] and abs(before[one] - before[other]) == 1


def _spans(shape: Sequence[int], length: int) -> list[int]:
    """How many elements lie behind each axis of a length."""
    return [int(np.prod(shape[place + 1 :])) for place, size in enumerate(shape) if size == length]


@remembered
def trials(index: Index, settings: SettingsTree) -> tuple[Trial, ...]:
    """Try the networks of the program's training; one that cannot be computed is left out."""
    found: list[Trial] = []
    covered: set[Class] = set()
    end = time.thread_time() + SECONDS
    for subject in subjects(index, settings):
        if subject.cls in covered:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what numpy says of a stranger's shapes is no news for the user
            trial = _tried(index, subject, covered, end)
        if trial is not None:
            found.append(trial)
    return tuple(found)


def _tried(index: Index, subject: Subject, covered: set[Class], end: float) -> Trial | None:
    forward = index.method(subject.cls, "forward")
    if forward is None:
        return None
    now = time.thread_time()
    for smaller in SMALLER:
        run = Interpreter(index, smaller=smaller)
        run.deadline = min(end, time.thread_time() + SECONDS_TO_FIT)
        try:
            network = run.make(subject.cls, (), subject.keywords)
            given = fitting(run, network, forward) if isinstance(network, Object) else None
            if given is not None:
                covered.update(run.classes)
                run.deadline = min(end, now + SECONDS_OF_ONE)
                return _asked(run, network, subject, forward, given)
        except TooLarge:
            run.is_overworked = True
        except CannotCompute:
            pass
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
            pass  # a stranger's shapes and types may fit together in no way at all
        if smaller == 1 and not run.is_overworked:
            return None
    return None


def _asked(run: Interpreter, network: Object, subject: Subject, forward: Function, given: Fitting) -> Trial:
    ask = _Asking(run, network)
    seen = _Seen(_known_lengths(given), samples=given.arrays[0].shape[0])
    run.watch, run.called, run.steps, run.work = seen, set(), STEPS, WORK
    base = ask.all(given.arrays)
    run.watch, consumed, spared = Watch(), run.consumption.consumed, run.spared
    called = tuple(layer for layer in run.layers if id(layer) in run.called)
    sizes = tuple(array.shape for array in base)
    unknown: tuple[bool | None, bool | None] = (None, None)
    is_single = given.kinds[0] == "vector" or len(given.arrays) > 1
    is_bare = seen.is_alone() and is_single  # a sequence was asked for, and one place of it given
    if _keeps_state(run):
        return Trial(subject.cls, forward, given, sizes, tuple(run.layers), unknown, unknown, (), (), ())
    return Trial(
        subject.cls,
        forward,
        given,
        sizes,
        tuple(run.layers),
        _answered(run, lambda: _mixing(ask, given, base), unknown),
        _answered(run, lambda: _told(ask, given, base), unknown),
        _answered(run, lambda: _ahead(ask, given, base), ()),
        ()
        if is_bare
        else _answered(run, lambda: _idle_arguments(ask, given, [*base, *spared], consumed), ()),
        () if is_bare else _answered(run, lambda: _idle_layers(ask, given, [*base, *spared], called), ()),
        tuple({(t.spot.node, t.masked): t for t in seen.turned}.values()),
        tuple({s.spot.node: s for s in seen.scrambled}.values()),
        any(result.shape[-2:] == given.arrays[0].shape[:1] * 2 for result, _, _ in seen.soft),
        seen.attends(),
        seen.compares,
        any(_SPREAD.search(ast.unparse(cls.node)) for cls in run.classes),
        pools_rows=any(_OVER_ROWS.search(ast.unparse(cls.node)) for cls in run.classes),
        padding=_answered(run, lambda: padding_told_in_vain(run, network, forward, given), ""),
    )


def _answered(run: Interpreter, question: Callable[[], Answer], unknown: Answer) -> Answer:
    """What a question is answered; each has a budget of its own."""
    run.steps, run.work = STEPS, WORK
    try:
        return question()
    except CannotCompute:
        return unknown


class _Asking:
    """Calls of one network."""

    def __init__(self, run: Interpreter, network: Object) -> None:
        self.run = run
        self.network = network

    def all(self, arrays: Sequence[Array]) -> list[Array]:
        """Everything that comes out."""
        found = outputs(self.run, self.network, arrays)
        if found is None:
            raise CannotCompute("no answer")
        return found

    def first(self, arrays: Sequence[Array]) -> Array:
        return self.all(arrays)[0]


def _known_lengths(given: Fitting) -> frozenset[int]:
    """The lengths that only the samples and places of the input have."""
    first = given.arrays[0]
    if given.kinds[0] in {"tokens", "sequence"}:
        return frozenset({first.shape[0], first.shape[1]})
    return frozenset({first.shape[0]})


def _keeps_state(run: Interpreter) -> bool:
    """Whether a forward keeps something in its object, so that one call tells on the next."""
    for cls in run.classes:
        for method in cls.methods.values():
            if method.name in {"__init__", "reset_parameters", "setup"}:
                continue
            for node in ast.walk(method.node):
                match node:
                    case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                        return True
    return False


def _changed(one: Array, other: Array, axis: int) -> set[int]:
    """The indices along an axis at which two outputs differ."""
    if one.shape != other.shape:
        return set()
    size = max(float(np.abs(one).max()), 1e-12)
    apart = np.abs(one - other) > SMALLEST * size
    others = tuple(i for i in range(one.ndim) if i != axis)
    return set(np.flatnonzero(apart.any(axis=others)).tolist())


def _replaced(array: Array, axis: int, place: int) -> Array:
    """An input with something else at one index of an axis."""
    changed = np.array(array)
    rows = np.moveaxis(changed, axis, 0)
    if array.dtype.kind == "i":
        rows[place] = rows[place] % 11 + 1
    else:
        rows[place] = rows[place][..., ::-1] * 1.3 - 0.7
    return changed


def _mixing(ask: _Asking, given: Fitting, base: list[Array]) -> tuple[bool | None, bool | None]:
    """Whether a change in one sample (and place) reaches others."""
    x = given.arrays[0]
    answers: list[bool | None] = []
    for axis in (0, 1):
        is_place = axis == 1
        keeps = base[0].ndim > axis + is_place and base[0].shape[axis] == x.shape[axis]
        if not keeps or (is_place and given.kinds[0] not in {"tokens", "sequence"}):
            answers.append(None)
            continue
        reached = set()
        for place in (0, x.shape[axis] - 2):
            arrays = (_replaced(x, axis, place), *given.arrays[1:])
            reached |= _changed(ask.first(arrays), base[0], axis) - {place}
        answers.append(bool(reached))
    return answers[0], answers[1]


def _told(ask: _Asking, given: Fitting, base: list[Array]) -> tuple[bool | None, bool | None]:
    """Whether samples (and places) that are all the same get different answers."""
    x = given.arrays[0]
    is_long = given.kinds[0] in {"tokens", "sequence"}
    cell = x[:1, :1] if is_long else x[:1]
    arrays = (np.broadcast_to(cell, x.shape), *(_even(a, x.shape[0]) for a in given.arrays[1:]))
    answer = ask.first(arrays)
    told: list[bool | None] = []
    for axis in (0, 1):
        is_kept = answer.ndim > 1 + axis and answer.shape[axis] == x.shape[axis] and (axis == 0 or is_long)
        if not is_kept:
            told.append(None)
            continue
        first = np.take(answer, [0], axis)
        told.append(bool(_changed(answer, np.broadcast_to(first, answer.shape), axis)))
    return told[0], told[1]


def _even(array: Array, samples: int) -> Array:
    """The same for every sample."""
    return np.broadcast_to(array[:1], array.shape) if array.shape[:1] == (samples,) else array


def _ahead(ask: _Asking, given: Fitting, base: list[Array]) -> tuple[int, ...]:
    """How far ahead of a place its answer looks, for the argument whose places the output has."""
    answer = base[0]
    if answer.ndim != 3:
        return ()
    for which, (kind, array) in enumerate(zip(given.kinds, given.arrays, strict=True)):
        if kind != "tokens" or array.shape != answer.shape[:2]:
            continue
        distances: set[int] = set()
        for place in (array.shape[1] - 1, array.shape[1] // 2):
            arrays = list(given.arrays)
            arrays[which] = _replaced(array, 1, place)
            reached = _changed(ask.first(arrays), answer, 1)
            distances |= {place - one for one in reached if one < place}
        return tuple(sorted(distances)) or (0,)
    return ()


def _idle_arguments(ask: _Asking, given: Fitting, base: list[Array], consumed: set[int]) -> tuple[str, ...]:
    """The arguments that are worked with and change nothing."""
    idle: list[str] = []
    for which, name in enumerate(given.names):
        if which not in consumed or LENGTHS.intersection(words(name)):
            continue
        others = (_otherwise(given.arrays[which]), _far_away(given.arrays[which]))
        if all(_is_same_with(ask, given, base, which, other) for other in others):
            idle.append(name)
    if idle and ask.run.drew:
        with _lively(ask, given) as otherwise:
            places = {name: given.names.index(name) for name in idle}
            idle = [
                name
                for name, which in places.items()
                if _is_same_with(ask, given, otherwise, which, _otherwise(given.arrays[which]))
            ]
    return tuple(idle)


@contextmanager
def _lively(ask: _Asking, given: Fitting) -> Iterator[list[Array]]:
    """Let chance differ from place to place, and give what comes out: equal slots have nothing to choose."""
    ask.run.is_lively = True
    try:
        yield [*ask.all(given.arrays), *ask.run.spared]
    finally:
        ask.run.is_lively = False


def _is_same_with(ask: _Asking, given: Fitting, base: list[Array], which: int, other: Array) -> bool:
    """Whether the same comes out with another argument."""
    arrays = (*given.arrays[:which], other, *given.arrays[which + 1 :])
    answers = outputs(ask.run, ask.network, arrays)
    if answers is None:
        return False
    answers += ask.run.spared
    return len(answers) == len(base) and not any(map(_differs, answers, base))


def _far_away(array: Array) -> Array:
    """Another argument still: what falls into one range at first falls into another here."""
    if array.dtype == bool:
        return np.roll(array, 1, -1)
    return array * 37 + 5 if array.dtype.kind == "i" else array * -9.0 + 3


def _otherwise(array: Array) -> Array:
    if array.dtype == bool:
        return ~array
    if array.dtype.kind == "i":
        return array % 9 + 2
    return np.abs(array[..., ::-1] * 0.5 + 0.2) if array.ndim == 1 else array[..., ::-1] * 1.7 + 0.4


def _idle_layers(
    ask: _Asking, given: Fitting, base: list[Array], called: Sequence[Layer]
) -> tuple[Layer, ...]:
    """The layers with weights that are called and change nothing, whichever of their place one takes."""
    weighty = [
        layer
        for layer in called
        if layer.made_at
        and any(isinstance(w, np.ndarray) and w.ndim > 1 and w.size for w in layer.weights.values())
    ]
    if any(_chooses(cls) for cls in ask.run.classes):
        return ()  # what is not chosen for these inputs may be chosen for others
    stride = -(-len(weighty) // MOST_LAYERS) or 1
    idle = [layer for layer in weighty[::stride] if not _acts(ask, given, base, layer)]
    several = _with_places(ask, given) if idle else None
    if several is not None:  # what chooses among places has nothing to choose in one
        idle = [layer for layer in idle if not _acts(ask, *several, layer)]
    if idle and ask.run.drew:
        with _lively(ask, given) as otherwise:
            idle = [layer for layer in idle if not _acts(ask, given, otherwise, layer)]
    return tuple({id(layer.made_at.node): layer for layer in idle if layer.made_at}.values())


def _with_places(ask: _Asking, given: Fitting) -> tuple[Fitting, list[Array]] | None:
    """Several places instead of one vector, and what comes out; None where a network takes no such thing."""
    if given.kinds[0] != "vector":
        return None
    samples, width = given.arrays[0].shape
    places = np.random.default_rng(3).standard_normal((samples, PLACES, width))
    longer = Fitting(("sequence", *given.kinds[1:]), given.names, (places, *given.arrays[1:]))
    answers = outputs(ask.run, ask.network, longer.arrays)
    return None if answers is None else (longer, [*answers, *ask.run.spared])


def _chooses(cls: Class) -> bool:
    """Whether a class lets values decide which of its parts are used."""
    return bool(re.search(r"topk|argmax|argmin|\b(?:arg)?sort\(|multinomial|> 0\.5", ast.unparse(cls.node)))


def _acts(ask: _Asking, given: Fitting, base: list[Array], layer: Layer) -> bool:
    """Whether the outputs change with what a layer gives, pushed to either side."""
    return any(_acts_when(ask, given, base, layer, side) for side in (1.0, -1.0))


def _acts_when(ask: _Asking, given: Fitting, base: list[Array], layer: Layer, side: float) -> bool:
    ask.run.replaced[id(layer)] = partial(_shaken, side)
    try:
        answers = outputs(ask.run, ask.network, given.arrays)
        answers = answers and [*answers, *ask.run.spared]
    except Unlisted:
        answers = None
    finally:
        del ask.run.replaced[id(layer)]
    if answers is None or len(answers) != len(base):
        return True
    return any(map(_differs, answers, base))


def _differs(one: Array, other: Array) -> bool:
    """Whether two outputs are not the same."""
    if one.shape != other.shape:
        return True
    return bool(np.any(np.abs(one - other) > SMALLEST * max(float(np.abs(one).max()), 1e-12)))


def _shaken(side: float, result: Any) -> Any:
    if isinstance(result, Packed):
        return replace(result, rows=_shaken(side, result.rows))
    if isinstance(result, tuple):
        return tuple(_shaken(side, one) for one in result)
    if isinstance(result, np.ndarray):
        wave = np.cos(np.arange(result.size)).reshape(result.shape)
        return np.asarray(result * -1.5 + side * (1.2 + 0.8 * wave))
    return result
