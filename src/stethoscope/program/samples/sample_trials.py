"""What the making of samples turns out to do when it is tried on invented pictures.

Each class that reads two pictures for a sample, an input and a target, is asked for samples in which both
show the same scene. However it crops, mirrors and resizes them, they have to show the same scene still.
"""

from __future__ import annotations

import ast
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stethoscope.program.experiments.things import Object, Spot
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.samples.anything import GRADUAL, RATIOS, Circumstances, roles_of
from stethoscope.program.samples.invented import BRIGHTEST, CLASSES, HEIGHT, WIDTH, Scene
from stethoscope.program.samples.luck import Luck
from stethoscope.program.samples.maker import Maker
from stethoscope.program.samples.photos import Photo
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.bounded_arrays import CannotCompute
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test

Array = np.ndarray[Any, Any]
READING = ("imread(", "Image.open(", "read_image(", "decode_image(", "_loader(")
SECONDS = 1.5  # for all data sets of a program
SECONDS_OF_ONE = 0.8
DRAWS = 16
FEWER_DRAWS = 10  # of large pictures
TRIED_FOR_CLASSES = (0, 1, 2, 3, "low")
STEPS = 20_000  # of one sample
ALIKE = 0.85  # correlation of two that show the same scene; noise, colours and resizes leave this much
UNLIKE = 0.45
FEWEST_UNLIKE = 3
FEWEST_PLACES = 64
LARGEST_ZOOM = 6
LARGEST = 300.0  # of what is standardised: numbers up to 255 are not, and those up to 1 end near 3
MANY_BITS = ("65535", "uint16", "ANYDEPTH", "UNCHANGED", "10000", "4095", "tif", "rasterio")
SIDES: tuple[Any, ...] = (64, (48, 64), 24, (24, 32))
LABEL_WORDS = ("mask", "label", "seg", "anno", "lbl", "trimap", "parsing")


@dataclass(frozen=True, slots=True, eq=False)
class SampleTrial:
    """What was found of one class.

    `apart` of `draws` samples have an input and a target that show different places. `mixed` is a resize
    that makes new classes between two, `turned` that the channels of the two are in different orders, and
    `reach` the largest number of an input that is standardised by what fits other numbers.
    """

    cls: Class
    function: Function
    draws: int
    apart: int
    mixed: Spot | None
    turned: bool
    reach: tuple[float, float] | None


@dataclass(slots=True)
class _Setup:
    """How samples of a class can be made: what it is given, and what is assumed and shown."""

    index: Index
    cls: Class
    function: Function
    given: Mapping[str, Any]
    about: Circumstances
    scene: Scene
    deadline: float
    unmixed: set[ast.AST] = field(default_factory=set)
    roles: tuple[str, ...] = ()
    is_loose: bool = False
    last: Maker | None = None

    def sample(self, luck: int | str, scene: Scene | None = None) -> list[Array] | None:
        """The arrays of one sample; None where it cannot be made."""
        maker = Maker(self.index, self.about, Luck(luck), (scene or self.scene).pictures())
        maker.steps, maker.deadline, maker.unmixed = STEPS, self.deadline, self.unmixed
        maker.roles, maker.is_loose = self.roles, self.is_loose
        self.last = maker
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = maker.data_set(self.cls, self.given)
                found = maker.call(maker.bound(self.function, made), (0,), {})
        except CannotCompute:
            return None
        except Exception:  # a stranger's shapes and types: whatever Python and numpy say about them
            return None
        return list(_arrays(found))


@remembered
def sample_trials(index: Index) -> tuple[SampleTrial, ...]:
    """The data sets of a program that could be tried."""
    end = time.thread_time() + SECONDS
    found: list[SampleTrial] = []
    texts = [module.source.text for module in index.modules.values()]
    if not any(word in text for word in READING for text in texts):
        return ()
    for cls in index.classes:
        function = index.method(cls, "__getitem__")
        if function is None or is_test(cls.source) or len(function.parameters) < 2:
            continue
        if time.thread_time() > end:
            break
        trial = _tried(index, cls, function, min(end, time.thread_time() + SECONDS_OF_ONE))
        if trial is not None:
            found.append(trial)
    return tuple(found)


def _tried(index: Index, cls: Class, function: Function, deadline: float) -> SampleTrial | None:
    for setup in _setups(index, cls, function, deadline):
        pair = _pair(setup)
        if pair is not None:
            setup.scene = replace(setup.scene, zoom=_zoom(setup, pair[0]))
        trial = _judged(setup, *pair) if pair is not None else None
        if trial is not None and trial.draws:
            return trial
    for setup in _setups(index, cls, function, deadline):
        setup.is_loose = True
        found, other = setup.sample(0), setup.sample(0, replace(setup.scene, of_input=2, of_target=2))
        for one, changed in zip(found or (), other or (), strict=False):
            if _differs(one, changed):
                return SampleTrial(cls, function, 0, 0, None, False, _reach(one, _holds_many_bits(cls)))
    return None


def _zoom(setup: _Setup, of_input: int) -> int:
    """How much larger pictures have to be for a crop to lie inside of them."""
    found = setup.sample("low")
    if found is None or len(found) <= of_input or (plain := _gray(found[of_input])) is None:
        return 1
    needed = max(plain.shape[0] / HEIGHT, plain.shape[1] / WIDTH) * setup.scene.ratio
    return min(int(needed) + 1, LARGEST_ZOOM) if needed > 1 else 1


def _setups(index: Index, cls: Class, function: Function, deadline: float) -> Iterator[_Setup]:
    """What may be assumed of a class, the likeliest first."""
    text = ast.unparse(cls.node).lower()
    has_labels = any(word in text for word in LABEL_WORDS)
    kinds = [*CLASSES, None] if has_labels else [None, *CLASSES]
    given = _given(index, cls)
    said = _said_ratio(index, cls, given)
    ratios = (said, 1) if said else (4, 2, 1) if any(word in text for word in ("scale", "_sf")) else (1,)
    for ratio in ratios:
        for side in SIDES:
            for classes in kinds:
                if time.thread_time() > deadline:
                    return
                about = Circumstances(side, ratio)
                yield _Setup(index, cls, function, given, about, Scene(1, 1, classes, ratio), deadline)


def _said_ratio(index: Index, cls: Class, given: Mapping[str, Any]) -> int:
    """How much larger than inputs targets are, where a parameter of the class has a number for it."""
    init = index.method(cls, "__init__")
    spec = init.node.args if init is not None else ast.arguments([], [], None, [], [], None, [])
    named = zip(reversed(spec.args), reversed(spec.defaults), strict=False)
    defaults = {arg.arg: one.value for arg, one in named if isinstance(one, ast.Constant)}
    for name, value in {**defaults, **given}.items():
        if RATIOS.intersection(words(name)) and type(value) is int and value in {2, 4, 8}:
            return value
    return 0


def _given(index: Index, cls: Class) -> dict[str, Any]:
    """What is written down where the data set of training is made."""
    init = index.method(cls, "__init__")
    names = init.parameters[1:] if init is not None else ()
    best: dict[str, Any] = {}
    for module in index.modules.values():
        if is_test(module.source):
            continue
        for call in all_nodes(module.source.tree, ast.Call):
            if bare_name(call) != cls.name:
                continue
            pairs = [*zip(names, call.args, strict=False), *((k.arg or "", k.value) for k in call.keywords)]
            found = {name: one.value for name, one in pairs if isinstance(one, ast.Constant) and name}
            if _changes(found) > _changes(best):
                best = found
    return {name: value for name, value in best.items() if value is not None}


def _changes(given: Mapping[str, Any]) -> tuple[int, int]:
    """How much a call speaks of training: its samples are the ones that chance changes."""
    said = sum(value is True or (isinstance(value, str) and "train" in value) for value in given.values())
    return said, len(given)


# What is compared


def _pair(setup: _Setup) -> tuple[int, int] | None:
    """The places of the input and the target in a sample, told by which file changes which of them."""
    if setup.sample(0) is None or setup.last is None:
        return None
    setup.roles = roles_of(setup.last.read_as)
    plain = setup.sample(0)
    if plain is None or sorted(setup.roles) != ["input", "target"]:
        return None
    other_input = setup.sample(0, Scene(2, 1, setup.scene.classes, setup.scene.ratio))
    other_target = setup.sample(0, Scene(1, 2, setup.scene.classes, setup.scene.ratio))
    if other_input is None or other_target is None or not len(plain) == len(other_input) == len(other_target):
        return None
    by_input = [_differs(a, b) for a, b in zip(plain, other_input, strict=True)]
    by_target = [_differs(a, b) for a, b in zip(plain, other_target, strict=True)]
    inputs = [i for i, (a, b) in enumerate(zip(by_input, by_target, strict=True)) if a and not b]
    targets = [i for i, (a, b) in enumerate(zip(by_input, by_target, strict=True)) if b and not a]
    return (inputs[0], targets[0]) if len(inputs) == 1 and len(targets) == 1 else None


def _differs(one: Array, other: Array) -> bool:
    return one.shape != other.shape or not np.array_equal(one, other)


def _judged(setup: _Setup, of_input: int, of_target: int) -> SampleTrial:
    alike: list[float] = []
    turned: list[bool] = []
    reach: tuple[float, float] | None = None
    mixed: Spot | None = None
    for luck in (*range(DRAWS if setup.scene.zoom == 1 else FEWER_DRAWS), "low", "high"):
        found = setup.sample(luck)
        if found is None or len(found) <= max(of_input, of_target):
            continue
        seen, wanted = found[of_input], found[of_target]
        score = _likeness(seen, wanted)
        alike += [score] if score is not None else []
        turned.append(_is_turned(seen, wanted) if setup.scene.classes is None else False)
        reach = reach or _reach(seen, _holds_many_bits(setup.cls))
        mixed = mixed or (_mixed(setup, luck, of_target, wanted) if luck in TRIED_FOR_CLASSES else None)
    apart = 0 if _is_unpaired(setup.cls) else sum(score < UNLIKE for score in alike)
    is_able = any(score > ALIKE for score in alike) and apart >= FEWEST_UNLIKE
    return SampleTrial(
        setup.cls, setup.function, len(alike), apart if is_able else 0, mixed,
        bool(turned) and all(turned), reach,
    )  # fmt: skip


def _is_unpaired(cls: Class) -> bool:
    """Whether inputs and targets are said to be of different scenes."""
    named = [cls.name, *(one.id for one in all_nodes(cls.node, ast.Name))]
    named += [one.attr for one in all_nodes(cls.node, ast.Attribute)]
    return any("unpaired" in name.lower() or "unaligned" in name.lower() for name in named)


def _likeness(seen: Array, wanted: Array) -> float | None:
    """How much two show the same scene, whatever their colours; None where that cannot be told."""
    first, others = _gray(seen), _channels(wanted)
    if first is None or not others:
        return None
    pairs = [(first, one) for one in others] + list(_without_a_class(first, wanted))
    scores = [score for one, other in pairs if (score := _correlation(one, other)) is not None]
    return max(scores, default=None)


def _without_a_class(first: Array, wanted: Array) -> Iterator[tuple[Array, Array]]:
    """The places of two classes where there is a third, of what was put around a picture."""
    is_of_classes = wanted.dtype.kind in "iu" and wanted.shape == first.shape
    classes: list[Any] = list(np.unique(wanted)) if is_of_classes else []
    for left_out in classes if 2 < len(classes) < 8 else ():
        kept = wanted != left_out
        if kept.sum() >= FEWEST_PLACES:
            yield first[kept][None], wanted[kept].astype(np.float64)[None]


def _gray(x: Array) -> Array | None:
    x = x.astype(np.float64)
    if x.ndim == 3:
        x = x.mean(0) if x.shape[0] <= 4 else x.mean(2) if x.shape[2] <= 4 else x[None, None]
    return x if x.ndim == 2 and min(x.shape) >= 4 else None


def _channels(x: Array) -> list[Array]:
    """A target in one channel, or each class of one that has a channel for each."""
    if x.ndim == 3 and x.shape[0] > 4 and x.shape[2] > 4:
        return [one.astype(np.float64) for one in x[:40]]
    plain = _gray(x)
    return [plain] if plain is not None else []


def _correlation(one: Array, other: Array) -> float | None:
    large, small = (one, other) if one.size >= other.size else (other, one)
    ratio = large.shape[0] // small.shape[0]
    if (small.shape[0] * ratio, small.shape[1] * ratio) != large.shape:
        return None
    pooled = large.reshape(small.shape[0], ratio, small.shape[1], ratio).mean((1, 3))
    if min(pooled.std(), small.std()) < 1e-9:
        return None
    score = abs(float(np.corrcoef(pooled.ravel(), small.ravel())[0, 1]))
    return score if np.isfinite(score) else None


def _is_turned(seen: Array, wanted: Array) -> bool:
    """Whether two pictures in the same range have their channels in different orders."""
    if not (seen.ndim == wanted.ndim == 3) or (seen.shape[0], wanted.shape[0]) != (3, 3):
        return False
    if abs(np.ptp(seen) - np.ptp(wanted)) > 0.1 * np.ptp(wanted):
        return False
    return list(np.argsort(seen.mean((1, 2)))) != list(np.argsort(wanted.mean((1, 2))))


def _reach(seen: Array, of_many_bits: bool) -> tuple[float, float] | None:
    """From where to where the numbers of an input go, where no network is meant to see that."""
    low, high = float(seen.min()), float(seen.max())
    is_standardised = low < 0 or (high > 260)
    if seen.dtype.kind != "f" or not np.isfinite((low, high)).all():
        return None
    is_divided_twice = low >= 0 and 0.5 < high * 255 * 255 / BRIGHTEST < 1.5
    if (is_standardised and high > LARGEST) or (is_divided_twice and not of_many_bits):
        return low, high
    return None


def _holds_many_bits(cls: Class) -> bool:
    """Whether the files may hold more than bytes, so that a division by more is in its place."""
    return any(word in cls.source.text for word in MANY_BITS)


def _mixed(setup: _Setup, luck: int | str, of_target: int, wanted: Array) -> Spot | None:
    """The resize without which a target of classes would have others."""
    if wanted.dtype.kind not in "iu" or setup.scene.classes is None or setup.last is None:
        return None
    if any(GRADUAL & known for known in setup.last.read_as):
        return None
    for spot in {one.node: one for one in setup.last.resizes}.values():
        setup.unmixed.add(spot.node)
        plain = setup.sample(luck)
        setup.unmixed.discard(spot.node)
        if plain is None or len(plain) <= of_target or plain[of_target].shape != wanted.shape:
            continue
        if set(np.unique(wanted)) - set(np.unique(plain[of_target])):
            return spot
    return None


def _arrays(value: Any) -> Iterator[Array]:
    """The pictures of a sample, one after the other."""
    match value:
        case np.ndarray() if value.ndim >= 2:
            yield value
        case Photo(array=array):
            yield array
        case list() | tuple():
            for one in value:
                yield from _arrays(one)
        case dict():
            for one in value.values():
                yield from _arrays(one)
        case Object():
            return
