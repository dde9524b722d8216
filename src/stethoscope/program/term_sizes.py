"""How large the terms of a loss are against each other, computed on small and large pictures.

The minimised value is taken apart at its sums. Each addend that compares a prediction with a target is
computed by its own formula, weight included, on pictures whose error is known. Nothing of the program runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stethoscope.program.addends import Addend, applied_in
from stethoscope.program.declared_numbers import chosen_numbers, declared_numbers
from stethoscope.program.execution import Execution
from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.minimised import Minimised
from stethoscope.program.probe import operands_of, score
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.shared_values import shared_values
from stethoscope.program.tensor_operations import LAYERS
from stethoscope.program.values import Applied, Constant, Delayed, Leaf, Part, Site, Value

SMALL, LARGE = 32, 64  # sides of the pictures
ERRORS = (0.02, 0.2)  # standard deviations of a good and of a poor prediction, of values between 0 and 1
SHRINKS = 0.6  # from one side to its double: a half or less where a mean is divided by a size again
BATCH = 8
SOUND_DOUBLINGS = 8  # from 64 to 16,384 samples, a second of sound
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
    doublings: int = 1  # of the side of the larger picture here, up to what is usual

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
) -> Iterator[TermSize]:
    """The addends that could be computed, each with its size on small and large pictures."""
    shared = shared_values([addend.value for addend in addends])
    for addend in addends:
        value = addend.value
        if not isinstance(value, Applied | Delayed) or _is_of_distributions(one.run, value):
            continue
        chosen = chosen_numbers(index, settings, value)
        for given in (chosen, chosen | shared):
            operands = [operand for operand in operands_of(index, value, given) if not _is_layer(operand)]
            numbers = declared_numbers(index, settings, operands)
            masks = [operand for operand in operands if _is_mask(operand)] if len(operands) > 2 else []
            compared = [o for o in operands if o not in numbers and o not in masks]
            if len(compared) == 2:
                break
        else:
            continue
        sizes = _sizes(index, value, compared, masks, {o: known for o, (_, known) in numbers.items()})
        if sizes is not None:
            spectrum = _spectrum(one.run, value)
            scaled = {key: size * abs(addend.factor) for key, size in sizes.items()}
            assumed = dict(numbers.values())
            site = spectrum.site if spectrum is not None else None
            term = TermSize(
                value.site, scaled, spectrum is not None, site, one.sink.site, addend.scaled_at, assumed
            )
            if term.growth < SHRINKS:
                known = {o: one for o, (_, one) in numbers.items()}
                doublings = SOUND_DOUBLINGS if spectrum is not None and _is_of_sound(spectrum) else 1
                in_batch = _in_batch(index, value, compared, masks, known)
                term = replace(term, in_batch=in_batch, doublings=doublings)
            yield term


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


def _sizes(
    index: Index,
    value: Value,
    compared: Sequence[Value],
    masks: Sequence[Value],
    numbers: Mapping[Value, float],
) -> dict[tuple[int, float], float] | None:
    sizes: dict[tuple[int, float], float] = {}
    for side in (SMALL, LARGE):
        for error in ERRORS:
            number = _size(index, value, compared, masks, numbers, (1, 3, side, side), error)
            if number is None:
                return None
            sizes[side, error] = number
    return sizes


def _in_batch(
    index: Index,
    value: Value,
    compared: Sequence[Value],
    masks: Sequence[Value],
    numbers: Mapping[Value, float],
) -> float:
    """The factor by which a term changes from one picture to a batch."""
    shapes = ((count, 3, SMALL, SMALL) for count in (1, BATCH))
    one, many = (_size(index, value, compared, masks, numbers, shape, ERRORS[0]) for shape in shapes)
    return many / one if one and many else 1.0


def _size(
    index: Index,
    value: Value,
    compared: Sequence[Value],
    masks: Sequence[Value],
    numbers: Mapping[Value, float],
    shape: tuple[int, ...],
    error: float,
) -> float | None:
    rng = np.random.default_rng(shape[-1])
    target = rng.uniform(0.2, 0.8, shape)
    noise = rng.normal(size=shape)
    given = (*(np.ones(shape, dtype=bool) for _ in masks), *map(np.float64, numbers.values()))
    operands = (*compared, *masks, *numbers)
    number = score(index, value, operands, (target + error * noise, target, *given))
    return abs(number) if number is not None and np.isfinite(number) else None


def _is_of_sound(transform: Applied) -> bool:
    """Whether a Fourier transform goes along the last axis alone, as that of a sound does."""
    dim = transform.keywords.get("dim", transform.args[2] if len(transform.args) > 2 else Constant(-1))
    is_last = isinstance(dim, Constant) and dim.value == -1
    return transform.callee.rpartition(".")[2] in {"fft", "rfft"} and is_last


def _spectrum(run: Execution, value: Value) -> Applied | None:
    """The Fourier transform inside a value."""
    return next((one for one in applied_in(run, value) if ".fft." in f".{one.callee}"), None)
