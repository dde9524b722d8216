"""How much a layer of a normalizing flow changes volumes, against what it says of it.

A layer that gives back what it made of its input and the logarithm of the determinant of that is tried: its
derivatives are taken one number of the input at a time, and their determinant is computed.
"""

from __future__ import annotations

import ast
import re
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stethoscope.program.experiments.interpreter import Interpreter
from stethoscope.program.experiments.layers import Layer
from stethoscope.program.experiments.running import STEPS, WORK
from stethoscope.program.experiments.subjects import Subject, subjects
from stethoscope.program.experiments.things import Array, Object, Weight
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.bounded_arrays import CannotCompute

SECONDS = 3.0  # for one network with its layers
SHAPES = (
    *((1, channels, 2, 2) for channels in (3, 1, 2, 4, 6, 8, 12, 16, 24, 48)),
    *((1, width) for width in (2, 3, 4, 5, 6, 8, 10, 12, 16, 21, 24, 32, 64)),
    *((1, channels, 4) for channels in (2, 4, 8, 16)),
)
MOST_NUMBERS = 64  # of an input
MOST_HELD = 2_000  # things that a network is made of
CALM = 0.3  # weights are made so much smaller, so that many layers in a row stay tame
STEPS_ASIDE = (1e-4, 2e-5)
CLOSE = 2e-3  # of the larger of the two
SMALLEST = 1e-3  # change of volume that counts
DOUBTS = 4  # differences between two computations that are put down to rounding
MOST_DOUBT = 0.05  # of what is computed; many layers in a row cannot be computed better
INPUTS = 2
_SAYS = re.compile(r"(?i)log_?(?:abs_?)?det|\bld[jt]?\b|jac|log_?s\b|log_?scale")


@dataclass(frozen=True, slots=True)
class Volume:
    """The logarithm of what the volume around an input changes by: computed, how surely, and said."""

    computed: float
    doubt: float
    said: float

    def is_sure(self) -> bool:
        """Whether rounding hides nothing."""
        return self.doubt <= CLOSE * abs(self.computed) + SMALLEST

    def fits(self, part: float = 1.0) -> bool:
        """Whether this part of what is computed is said."""
        meant = self.said / part
        room = CLOSE * max(abs(self.computed), abs(meant), SMALLEST) + DOUBTS * self.doubt
        return abs(meant - self.computed) <= room


@dataclass(frozen=True, slots=True, eq=False)
class MistoldVolume:
    """A layer that says another change of volume than it makes."""

    name: str
    forward: Function
    volumes: tuple[Volume, ...]
    shape: tuple[int, ...]

    def is_right(self, part: float = 1.0) -> bool:
        """Whether this part of the change is said for every input."""
        return all(one.fits(part) for one in self.volumes)


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """A network that says by how much it changes volumes, and the multiple of the truth that it says."""

    cls: Class
    part: float


@dataclass(frozen=True, slots=True, eq=False)
class Volumes:
    """What was found out about the flows of a program."""

    mistold: tuple[MistoldVolume, ...] = ()
    flows: tuple[Flow, ...] = ()


@remembered
def volumes(index: Index, settings: SettingsTree) -> Volumes:
    """Try the flows that a program trains, and their layers."""
    if not any(_SAYS.search(source.text) for source in index.program):
        return Volumes()
    found: dict[Function, MistoldVolume] = {}
    flows: list[Flow] = []
    covered: set[Class] = set()
    for subject in subjects(index, settings):
        if subject.cls in covered:
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                for one in _of_network(index, subject, covered):
                    if isinstance(one, Flow):
                        flows.append(one)
                    else:
                        found.setdefault(one.forward, one)
            except (CannotCompute, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
                continue
            except (RecursionError, AssertionError):
                continue
    return Volumes(tuple(found.values()), tuple(flows))


def _of_network(index: Index, subject: Subject, covered: set[Class]) -> Iterator[MistoldVolume | Flow]:
    run = Interpreter(index)
    run.deadline = time.thread_time() + SECONDS
    network = run.make(subject.cls, (), subject.keywords)
    if not isinstance(network, Object):
        return
    covered.update(run.classes)
    for weight in _weights(run, network):
        weight *= CALM if weight.shape[:1] != weight.shape[1:] else 1.0
    said = "".join(ast.unparse(cls.node) for cls in run.classes)
    whole = _tried(run, network) if _SAYS.search(said) else None
    part = _part_meant(whole) if whole is not None else None
    if whole is not None and part is not None:
        if all(one.is_sure() for one in whole.volumes):
            yield Flow(network.cls, part)
            return
        whole = None  # right as far as can be seen
    layers = [tried for one in _inside(run, network) if (tried := _tried(run, one)) is not None]
    wrong = [one for one in layers if not one.is_right()]
    right = [one for one in layers if one.is_right() and any(v.computed for v in one.volumes)]
    if whole is None:
        yield from wrong if right else ()
    else:
        yield from wrong if right and wrong else [whole]


def _part_meant(whole: MistoldVolume) -> float | None:
    """The multiple that a flow says: all, the mean over its numbers, channels or places, bits, or a minus."""
    sizes = {1, whole.shape[1], int(np.prod(whole.shape)), int(np.prod(whole.shape[2:]))}
    parts = [sign / (size * unit) for size in sizes for unit in (1.0, np.log(2.0)) for sign in (1.0, -1.0)]
    return next((part for part in parts if whole.is_right(part)), None)


def _inside(run: Interpreter, network: Object) -> Iterator[Object]:
    """One object of each class that a network is made of."""
    classes = {network.cls}
    for one in _held(run, network):
        if isinstance(one, Object) and one.cls not in classes:
            classes.add(one.cls)
            yield one


def _weights(run: Interpreter, network: Object) -> Iterator[Array]:
    for one in _held(run, network):
        if isinstance(one, Weight):
            yield one
        elif isinstance(one, Layer):
            yield from (weight for weight in one.weights.values() if isinstance(weight, np.ndarray))


def _held(run: Interpreter, network: Object) -> Iterator[Any]:
    """All that a network holds, each thing once."""
    seen: set[int] = set()
    waiting: list[Any] = [network]
    while waiting and len(seen) < MOST_HELD:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, Object):
            waiting.extend(one.attributes.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, Layer) and one.kind in {"ModuleList", "Sequential"}:
            waiting.extend(run.elements(one))


def _tried(run: Interpreter, layer: Object) -> MistoldVolume | None:
    forward = run.index.method(layer.cls, "forward")
    if forward is None or not _gives_pair(forward):
        return None
    for shape in SHAPES:
        volumes = [_volume(run, layer, shape, seed) for seed in range(INPUTS)]
        known = tuple(one for one in volumes if one is not None)
        if len(known) == INPUTS:
            return MistoldVolume(layer.cls.name, forward, known, shape)
    return None


def _gives_pair(forward: Function) -> bool:
    given = [node.value for node in own_nodes(forward.node, ast.Return)]
    return bool(given) and all(isinstance(one, ast.Tuple) and len(one.elts) == 2 for one in given)


def _volume(run: Interpreter, layer: Object, shape: tuple[int, ...], seed: int) -> Volume | None:
    """What the volume around one input changes by, computed and said."""
    x = np.random.default_rng(seed).normal(size=shape) * 0.5
    try:
        first = _asked(run, layer, x)
        if first is None or first[0].size != x.size or x.size > MOST_NUMBERS:
            return None
        found = [_determinant(run, layer, x, step) for step in STEPS_ASIDE]
    except (CannotCompute, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return None
    one, other = found
    if one is None or other is None or abs(one - other) > MOST_DOUBT * abs(one) + SMALLEST:
        return None
    return Volume(one, abs(one - other), first[1])


def _determinant(run: Interpreter, layer: Object, x: Array, step: float) -> float | None:
    """The logarithm of the determinant of a layer's derivatives at an input."""
    columns = []
    for place in range(x.size):
        aside = np.zeros(x.size)
        aside[place] = step
        ahead, behind = (_asked(run, layer, x + sign * aside.reshape(x.shape)) for sign in (1, -1))
        if ahead is None or behind is None:
            return None
        columns.append((ahead[0] - behind[0]).ravel() / (2 * step))
    sign, size = np.linalg.slogdet(np.stack(columns, axis=1))
    return float(size) if sign and np.isfinite(size) else None


def _asked(run: Interpreter, layer: Object, x: Array) -> tuple[Array, float] | None:
    run.steps, run.work = STEPS, WORK
    answer = run.call(layer, (x,), {})
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return None
    made, said = answer
    if not isinstance(made, np.ndarray) or not isinstance(said, np.ndarray | float | int):
        return None
    return (made, float(np.ravel(said)[0])) if np.size(said) == 1 else None
