"""What a network gives before its first step: it is made and filled as the program does it, and computed.

The numbers are those of the first batch, up to chance: no spelling of the initial weights matters, and what
a norm, a shortcut or a scale makes good is made good here as well.
"""

from __future__ import annotations

import ast
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from stethoscope.program.experiments import first_weights
from stethoscope.program.experiments.inputs import Fitting, outputs
from stethoscope.program.experiments.interpreter import Interpreter
from stethoscope.program.experiments.layers import Layer
from stethoscope.program.experiments.running import STEPS, WORK, Watch
from stethoscope.program.experiments.subjects import Fill, Subject, subjects
from stethoscope.program.experiments.things import Array, Object, Spot
from stethoscope.program.experiments.trials import Trial, trials
from stethoscope.program.index import Index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.bounded_arrays import CannotCompute

SECONDS = 2.5  # for all networks of a program
SAMPLES = 12
STEEP = 1e-3  # what a saturated sigmoid or tanh leaves of a gradient
# Where each activation has become flat.
_FLAT_FROM = {"sigmoid": 7.0, "tanh": 4.2}
_ZERO_BELOW = {"relu": 0.0, "gelu": -5.0, "silu": -12.0}
ALIKE = 0.9  # correlation: nothing but a factor lies between products and scores
_NORMED = 0.02  # relative: queries or keys of one length have been normed
LEAST_UNITS = 8


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of attention: what the products of queries and keys were multiplied with."""

    spot: Spot
    times: float
    width: int


@dataclass(frozen=True, slots=True)
class Flat:
    """An activation that is flat for all that comes in: the share of its units."""

    spot: Spot
    name: str
    share: float


@dataclass(frozen=True, slots=True)
class Start:
    """A layer's first weights: what they make of the size of what comes in."""

    layer: Layer
    gain: float
    fan_in: int


@dataclass(frozen=True, slots=True, eq=False)
class Beginning:
    """A network before its first step."""

    trial: Trial
    outputs: tuple[Array, ...]
    smaller: tuple[Array, ...]  # what comes out when every matrix is half as large
    usual: float  # the size of what comes out where each layer keeps the size of what comes in
    starts: tuple[Start, ...]
    scores: tuple[Scores, ...]
    in_series: bool  # more than one attention, one behind the other
    own: float | None  # how much more a place's own input changes its answer than another place's does
    flats: tuple[Flat, ...]


@dataclass
class _Seen(Watch):
    products: list[tuple[Array, Array, Array]] = field(  # of two tensors, and the two
        default_factory=list
    )
    scores: dict[ast.AST, Scores] = field(default_factory=dict)
    flats: dict[ast.AST, Flat] = field(default_factory=dict)

    def product(self, subscripts: str | None, operands: Sequence[Array], spot: Spot) -> None:
        if len(operands) == 2 and all(isinstance(o, np.ndarray) and o.ndim >= 3 for o in operands):
            left, right = operands
            if subscripts is None:
                self.products.append((left @ right, left, np.swapaxes(right, -1, -2)))
            elif left.shape[-1] == right.shape[-1]:
                self.products.append((np.einsum(subscripts.replace(" ", ""), *operands), left, right))

    def softmax(self, result: Array, axis: int, spot: Spot) -> None:
        if result.ndim < 3 or axis % result.ndim != result.ndim - 1:
            return
        for product, left, right in reversed(self.products):
            if product.shape == result.shape:
                if _is_normed(left) or _is_normed(right):
                    return
                times = _times(result, product)
                if times is not None:
                    self.scores.setdefault(spot.node, Scores(spot, times, left.shape[-1]))
                return

    def activated(self, name: str, before: Array, spot: Spot) -> None:
        if before.ndim < 2 or before.dtype.kind != "f":
            return
        units = np.moveaxis(before, 1 if before.ndim == 4 else -1, 0).reshape(
            before.shape[1 if before.ndim == 4 else -1], -1
        )
        if len(units) < LEAST_UNITS or units.shape[1] < LEAST_UNITS:
            return
        if name in _FLAT_FROM:
            closed = (np.abs(units) >= _FLAT_FROM[name]).all(1)
        elif name in _ZERO_BELOW:
            closed = (units <= _ZERO_BELOW[name]).all(1) & (units < 0.0).any(1)
        else:
            return
        flat = Flat(spot, name, float(closed.mean()))
        known = self.flats.get(spot.node)
        if known is None or known.share > flat.share:  # of several layers the one that passes most
            self.flats[spot.node] = flat


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(np.square(x, dtype=np.float64))))


def _is_normed(x: Array) -> bool:
    """Whether all queries or keys have one length."""
    lengths = np.linalg.norm(np.asarray(x, np.float64), axis=-1)
    return float(lengths.std()) <= _NORMED * max(float(lengths.mean()), 1e-30)


def _times(weights: Array, products: Array) -> float | None:
    """What products were multiplied with before a softmax; None where that is not what made its weights."""
    before: list[Array] = []
    behind: list[Array] = []
    rows = zip(
        np.asarray(weights, np.float64).reshape(-1, weights.shape[-1]),
        np.asarray(products, np.float64).reshape(-1, products.shape[-1]),
        strict=True,
    )
    for row, product in rows:
        seen = row > 0.0
        if np.count_nonzero(seen) >= 3:
            logs = np.log(row[seen])
            before.append(product[seen] - product[seen].mean())
            behind.append(logs - logs.mean())
    if not before:
        return None
    p, w = np.concatenate(before), np.concatenate(behind)
    sizes = float(np.sqrt(np.sum(p * p) * np.sum(w * w)))
    together = float(np.sum(p * w))
    return together / float(np.sum(p * p)) if sizes > 0.0 and together >= ALIKE * sizes else None


@remembered
def beginnings(index: Index, settings: SettingsTree) -> tuple[Beginning, ...]:
    """The networks of the program's training that can be computed, as they begin."""
    tried = {trial.cls: trial for trial in trials(index, settings)}
    found: list[Beginning] = []
    end = time.thread_time() + SECONDS
    for subject in subjects(index, settings):
        trial = tried.get(subject.cls)
        if trial is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begun = _begun(index, subject, trial, end)
        if begun is not None:
            found.append(begun)
    return tuple(found)


def _begun(index: Index, subject: Subject, trial: Trial, end: float) -> Beginning | None:
    run = Interpreter(index, as_written=True)
    run.deadline = end
    try:
        network = run.make(subject.cls, (), subject.keywords)
        if not isinstance(network, Object):
            return None
        _fill(run, network, subject.fills)
        given = _varied(trial.fitting, run.layers)
        seen = run.watch = _Seen()
        run.steps, run.work = STEPS, WORK
        base = outputs(run, network, given)
        run.watch = Watch()
        starts = tuple(_starts(run.layers))
        if base is None:
            return None
        own = _own_influence(run, network, trial.fitting.kinds[0], given, base[0])
        for _, weight in first_weights.parameters(network):
            if weight.ndim > 1:
                weight *= 0.5
        smaller = outputs(run, network, given)
        usual = _usual(index, subject, given, end)
    except CannotCompute:
        return None
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return None  # a stranger's shapes and types may fit together in no way at all
    if smaller is None or len(smaller) != len(base):
        return None
    return Beginning(
        trial,
        tuple(base),
        tuple(smaller),
        usual,
        starts,
        tuple(seen.scores.values()),
        _in_series(network, seen.scores),
        own,
        tuple(seen.flats.values()),
    )


def _in_series(network: Object, scores: dict[ast.AST, Scores]) -> bool:
    """Whether attention is made in more than one place of a network: its heads alone are one place."""
    holders: set[str] = set()
    for name, part in first_weights.parts(network):
        is_written = isinstance(part, Object) and any(
            node is one for node in ast.walk(part.cls.node) for one in scores
        )
        if is_written or (isinstance(part, Layer) and part.kind == "MultiheadAttention"):
            holders.add(name.rpartition(".")[0] or name)
    return len(holders) > 1


def _own_influence(
    run: Interpreter, network: Object, kind: str, given: tuple[Array, ...], base: Array
) -> float | None:
    """How a place's answer changes with its own input, in parts of how it does with one before it."""
    x = given[0]
    if kind not in {"tokens", "sequence"} or base.ndim < 3 or base.shape[:2] != x.shape[:2]:
        return None
    place = x.shape[1] - 1
    moved: list[float] = []
    for changed in range(x.shape[1]):
        other = np.array(x)
        other[:, changed] = np.roll(x[:, changed], 1, 0)
        answers = outputs(run, network, (other, *given[1:]))
        if answers is None or answers[0].shape != base.shape:
            return None
        moved.append(_rms(answers[0][:, place] - base[:, place]))
    others = float(np.mean(moved[:place]))
    return moved[place] / others if others > 0.0 else None


def _usual(index: Index, subject: Subject, given: tuple[Array, ...], end: float) -> float:
    """The size of the first output with weights that keep sizes; nothing where there is none."""
    run = Interpreter(index)
    run.deadline = end
    network = run.make(subject.cls, (), subject.keywords)
    found = outputs(run, network, given) if isinstance(network, Object) else None
    return _rms(found[0]) if found else 0.0


def _fill(run: Interpreter, network: Object, fills: Sequence[Fill]) -> None:
    """Let the functions that fill the network's weights from outside do so."""
    run.making += 1
    try:
        for fill in fills:
            routine = run.bound(fill.function, None)
            if fill.is_applied:
                first_weights.applied(run, network, routine)
            else:
                run.call(routine, (network, *fill.arguments), fill.keywords)
    finally:
        run.making -= 1


def _varied(fitting: Fitting, layers: Sequence[Layer]) -> tuple[Array, ...]:
    """More samples than a trial needs, and tokens from the whole vocabulary."""
    rng = np.random.default_rng(3)
    first = fitting.arrays[0]
    samples = first.shape[0]
    rows = [layer.weights["weight"].shape[0] for layer in layers if layer.kind == "Embedding"]
    varied: list[Array] = []
    for kind, array in zip(fitting.kinds, fitting.arrays, strict=True):
        if array.shape[:1] != (samples,):
            varied.append(array)
        elif kind == "tokens" and rows:
            varied.append(rng.integers(1, max(max(rows), 2), (SAMPLES, *array.shape[1:])))
        elif array.dtype.kind == "f" and kind != "levels":
            varied.append(rng.standard_normal((SAMPLES, *array.shape[1:])))
        else:
            varied.append(np.resize(array, (SAMPLES, *array.shape[1:])))
    return tuple(varied)


def _starts(layers: Sequence[Layer]) -> Iterator[Start]:
    for layer in layers:
        weight = layer.weights.get("weight")
        if isinstance(weight, np.ndarray) and layer.kind != "Embedding" and weight.ndim > 1:
            wide = first_weights.fan_in(weight)
            yield Start(layer, float(np.asarray(weight).std()) * wide**0.5, wide)
