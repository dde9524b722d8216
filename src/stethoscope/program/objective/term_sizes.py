"""How large the terms of a loss are against each other, computed on small and large pictures.

The minimised value is taken apart at its sums. Each addend that compares a prediction with a target is
computed by its own formula, weight included, on pictures whose error is known. Nothing of the program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.addends import Addend, applied_in, made_at
from stethoscope.program.objective.compared_sides import Compared, compared, is_transform
from stethoscope.program.objective.declared_numbers import chosen_numbers, declared_numbers
from stethoscope.program.objective.probe import operands_of, score
from stethoscope.program.objective.shared_values import shared_values
from stethoscope.program.objective.term_weights import KnownNumbers, own_weight
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.minimised import Minimised
from stethoscope.program.walk.network_passes import comes_from_model
from stethoscope.program.walk.tensor_operations import LAYERS
from stethoscope.program.walk.values import Applied, Constant, Delayed, Leaf, Part, Site, Value

SMALL, LARGE = 32, 64  # sides of the pictures
ERRORS = (0.02, 0.2)  # standard deviations of a good and of a poor prediction, of values between 0 and 1
OF_AVERAGES = 20.0  # times as large for an error of one sign: the square of a mean over n places is n times
SHRINKS = 0.6  # from one side to its double: a half or less where a mean is divided by a size again
AGREEING = 0.5  # of its size for a poor prediction, that a comparison may have for a perfect one at most
BATCH = 8
SAMPLES = 32  # of a sound, for each of a picture's side
SOUND_DOUBLINGS = 8  # from 64 to 16,384 samples, a second of sound
Array = npt.NDArray[np.float64]
Shape = Callable[[int, int], tuple[int, ...]]  # of so many pictures of one side
MASKS = frozenset({"mask", "masks", "valid", "validity", "weights", "keep"})
DISTRIBUTIONS = frozenset({"kl_div", "KLDivLoss", "softmax", "log_softmax", "Softmax", "LogSoftmax"})


@dataclass(frozen=True, slots=True, eq=False)
class TermSize:
    """One addend of a minimised value and how large it is.

    `sizes` maps (side of the picture, error) to the number; `is_spectral` says that it goes through a
    Fourier transform, and `spectrum` is where. `sink` tells the backward pass it belongs to. `scaled_at` is
    where a number further out weighs it. `assumed`
    are the numbers that the run may set otherwise, by the names they have, with the declared defaults.
    """

    site: Site
    sizes: Mapping[tuple[int, float], float]
    is_spectral: bool
    spectrum: Site | None
    sink: Site
    scaled_at: Site | None = None
    assumed: Mapping[str, float] = field(default_factory=dict)
    in_batch: float = 1.0  # the factor from one picture to a batch, for what shrinks with the picture
    compares: bool = True  # it is small where its two sides agree
    doublings: int = 1  # of the side of the larger picture here, up to what is usual
    beside: float = 0.0  # the weights of the terms that could not be computed
    made_at: Site | None = None  # where its formula is written
    samples: int = 1  # for each unit of the side, where it was computed on sounds
    is_of_features: bool = False  # both sides are what networks gave, whose numbers may be of any size
    is_of_averages: bool = False  # errors of both signs cancel in it, and those of one sign do not

    @property
    def growth(self) -> float:
        """The factor by which it grows when the side of the picture doubles."""
        return self.sizes[LARGE, ERRORS[0]] / max(self.sizes[SMALL, ERRORS[0]], 1e-300)

    def in_use(self, error: float) -> float:
        """How large it is on a usual batch of usual pictures, or of usual sounds.

        What grows is taken as it is: how much it outweighs the others is another question.
        """
        size = self.sizes[LARGE, error]
        return size * self.growth**self.doublings * self.in_batch if self.growth < SHRINKS else size


def with_assumed(term: TermSize) -> str:
    """What a sentence about a term ends with where numbers were taken from their declarations."""
    said = ", ".join(f"{name} = {number:g}" for name, number in term.assumed.items())
    return f", with {said} as declared" if said else ""


def sized(
    one: Minimised, index: Index, settings: SettingsTree, addends: Sequence[Addend]
) -> Sequence[TermSize]:
    """The addends that could be computed, each with its size on small and large pictures, or sounds."""
    shared = shared_values([addend.value for addend in addends])
    ways = {
        addend: list(formulas(one.run, index, settings, addend.value, shared))
        for addend in addends
        if isinstance(addend.value, Applied | Delayed) and not _is_of_distributions(one.run, addend.value)
    }
    found: list[TermSize] = []
    for shape in _shapes([_spectrum(one.run, addend.value) for addend in ways]):
        terms = [_term(one, index, addend, formulas, shape) for addend, formulas in ways.items()]
        computed = [term for term in terms if term is not None]
        if len(computed) > len(found):
            found = computed
        if len(found) == len(ways):
            break
    unknown = [addend for addend in addends if not any(term.site is _site(addend) for term in found)]
    beside = sum(own_weight(KnownNumbers(index, settings), one.value, abs(one.factor)) for one in unknown)
    return [replace(term, beside=beside) for term in found]


def _site(addend: Addend) -> Site | None:
    return addend.value.site if isinstance(addend.value, Applied | Delayed) else None


def _shapes(spectra: Sequence[Applied | None]) -> tuple[Shape, ...]:
    """What to compute terms on: pictures, and sounds or series where there is a spectrum of such."""
    made = [one for one in spectra if one is not None]
    if not made:
        return (picture,)
    return (series, picture) if any(_axis_of(one) in {1, -2} for one in made) else (picture, sound, wave)


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """A term with what is put in place of its parts: two sides, masks of ones, and known numbers."""

    value: Value
    compared: Sequence[Value]
    masks: Sequence[Value]
    numbers: Mapping[Value, float]
    assumed: Mapping[str, float]
    is_of_features: bool


def formulas(
    run: Execution, index: Index, settings: SettingsTree, value: Value, shared: frozenset[int]
) -> Iterator[Formula]:
    """The ways to compute a term: from what it is made of in the end, from what several terms are made of,
    and from where what a network gave meets something else."""
    chosen = chosen_numbers(index, settings, value)
    for given in (chosen, chosen | shared):
        operands = [operand for operand in operands_of(index, value, given) if not _is_layer(operand)]
        numbers = declared_numbers(index, settings, operands)
        masks = [operand for operand in operands if _is_mask(operand)] if len(operands) > 2 else []
        sides = [o for o in operands if o not in numbers and o not in masks]
        if len(sides) == 2:
            is_of_features = all(comes_from_model(run, side) for side in sides)
            yield Formula(value, sides, masks, _known(numbers), dict(numbers.values()), is_of_features)
            break
    for way in compared(run, value, lambda one: bool(declared_numbers(index, settings, [one]))):
        operands = [o for o in operands_of(index, way.value, chosen) if not _is_layer(o)]
        numbers = declared_numbers(index, settings, [o for o in operands if not _is_among(o, way)])
        ones = dict.fromkeys(way.weights, 1.0)
        known, assumed = _known(numbers) | ones, dict(numbers.values())
        yield Formula(way.value, way.sides, way.masks, known, assumed, way.is_of_networks)


def _known(numbers: Mapping[Value, tuple[str, float]]) -> dict[Value, float]:
    return {operand: known for operand, (_, known) in numbers.items()}


def _is_among(operand: Value, way: Compared) -> bool:
    return any(operand is one for one in (*way.sides, *way.masks, *way.weights))


def _term(
    one: Minimised, index: Index, addend: Addend, formulas: Sequence[Formula], shape: Shape
) -> TermSize | None:
    """The size of a term by the first of its formulas that can be computed."""
    known = ((formula, _sizes(index, formula, shape)) for formula in formulas)
    formula, sizes = next(((f, sizes) for f, sizes in known if sizes is not None), (None, None))
    if formula is None or sizes is None or not isinstance(addend.value, Applied | Delayed):
        return None
    spectrum = _spectrum(one.run, addend.value)
    term = TermSize(
        addend.value.site,
        {key: size * abs(addend.factor) for key, size in sizes.items()},
        spectrum is not None,
        spectrum.site if spectrum is not None else None,
        one.sink.site,
        addend.scaled_at,
        formula.assumed,
        compares=_compares(index, formula, shape, sizes),
        made_at=made_at(one.run, addend.value),
        samples=max(shape(1, SMALL)) // SMALL,
        is_of_features=formula.is_of_features,
        is_of_averages=_is_of_averages(index, formula, shape, sizes),
    )
    if term.growth >= SHRINKS:
        return term
    is_long = term.samples > 1 or (spectrum is not None and _is_of_sound(spectrum))
    doublings = SOUND_DOUBLINGS - int(np.log2(term.samples)) if is_long else 1
    return replace(term, in_batch=_in_batch(index, formula, shape), doublings=doublings)


def _is_of_distributions(run: Execution, value: Value) -> bool:
    """Whether a term compares distributions of scores: no pictures, and they may differ by any amount."""
    names = (one.callee.removesuffix("()") for one in applied_in(run, value))
    return any(name.rpartition(".")[2] in DISTRIBUTIONS for name in names)


def _is_layer(value: Value) -> bool:
    """`nn.L1Loss()`: what computes, not what is compared."""
    return isinstance(value, Applied) and value.callee in LAYERS


def _is_mask(value: Value) -> bool:
    name = value.key if isinstance(value, Part) else value.name if isinstance(value, Leaf) else ""
    return isinstance(name, str) and bool(MASKS.intersection(words(name)))


# Sizes


def picture(count: int, side: int) -> tuple[int, ...]:
    """The shape of pictures with colours."""
    return count, 3, side, side


def sound(count: int, side: int) -> tuple[int, ...]:
    """The shape of sounds of two channels: 1,024 samples at the smaller size."""
    return count, 2, SAMPLES * side


def wave(count: int, side: int) -> tuple[int, ...]:
    """The shape of sounds without channels."""
    return count, SAMPLES * side


def series(count: int, side: int) -> tuple[int, ...]:
    """The shape of series of a few readings at each time."""
    return count, SAMPLES * side, 4


def _sizes(index: Index, formula: Formula, shape: Shape) -> dict[tuple[int, float], float] | None:
    sizes: dict[tuple[int, float], float] = {}
    for side in (SMALL, LARGE):
        for error in ERRORS:
            number = _size(index, formula, shape(1, side), error)
            if number is None:
                return None
            sizes[side, error] = number
    return sizes


def _compares(index: Index, formula: Formula, shape: Shape, sizes: Mapping[tuple[int, float], float]) -> bool:
    """Whether a term is small where its two sides agree: the divergence of a code from its prior is not."""
    agreeing = _size(index, formula, shape(1, SMALL), 0.0)
    return agreeing is not None and agreeing <= AGREEING * sizes[SMALL, ERRORS[-1]]


def _is_of_averages(
    index: Index, formula: Formula, shape: Shape, sizes: Mapping[tuple[int, float], float]
) -> bool:
    """Whether an error that is the same everywhere costs far more than one of as much that comes and goes."""
    rng = np.random.default_rng(SMALL)
    target = rng.uniform(0.2, 0.8, shape(1, SMALL))
    size = _computed(index, formula, target + ERRORS[0], target)
    return size is not None and size > OF_AVERAGES * sizes[SMALL, ERRORS[0]]


def _in_batch(index: Index, formula: Formula, shape: Shape) -> float:
    """The factor by which a term changes from one picture to a batch."""
    one, many = (_size(index, formula, shape(count, SMALL), ERRORS[0]) for count in (1, BATCH))
    return many / one if one and many else 1.0


def _size(index: Index, formula: Formula, shape: tuple[int, ...], error: float) -> float | None:
    rng = np.random.default_rng(shape[-1])
    target = rng.uniform(0.2, 0.8, shape)
    return _computed(index, formula, target + error * rng.normal(size=shape), target)


def _computed(index: Index, formula: Formula, shown: Array, target: Array) -> float | None:
    masks = (np.ones(target.shape, dtype=bool) for _ in formula.masks)
    given = (shown, target, *masks, *map(np.float64, formula.numbers.values()))
    operands = (*formula.compared, *formula.masks, *formula.numbers)
    number = score(index, formula.value, operands, given)
    return abs(number) if number is not None and np.isfinite(number) else None


def _is_of_sound(transform: Applied) -> bool:
    """Whether a Fourier transform goes along the last axis alone, as that of a sound does."""
    return _axis_of(transform) == -1


def _axis_of(transform: Applied) -> object:
    """The one axis that a Fourier transform goes along; None where there are several."""
    if transform.callee.rpartition(".")[2] not in {"fft", "rfft"}:
        return None
    dim = transform.keywords.get("dim", transform.args[2] if len(transform.args) > 2 else Constant(-1))
    return dim.value if isinstance(dim, Constant) else None


def _spectrum(run: Execution, value: Value) -> Applied | None:
    """The Fourier transform inside a value."""
    return next((one for one in applied_in(run, value) if is_transform(one)), None)
