"""Curves that losses and scores follow, fitted robustly: power laws in summed rates or steps, and decays.

Every family is linear in its floor, its height and the effect of annealing once its exponent and its offset
are known. So exponents and offsets are tried on a grid, all at once, and the linear part is solved for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from stethoscope.run import Values

Cube = npt.NDArray[np.float64]

ROUNDS = 6  # of weighing points by the last fit
SOFT = 1.0  # noises from which on a point counts by its distance and no more by its square
LEAST_NOISE = 1e-6
EXPONENTS = np.geomspace(0.06, 2.5, 18)
OFFSETS = np.concatenate([[0.0], np.geomspace(0.003, 1.0, 9)])  # of the length that was seen
DECAYS = np.geomspace(0.04, 4.0, 20)  # lengths of a decay, of the length that was seen

REFINED = (0.2, 0.1, 0.05)  # relative: how far apart the shapes of a finer search are

LR_SUM, POWER, DECAY = "power law in the summed learning rate", "power law in steps", "exponential decay"


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Where a curve is looked at: steps from the start, and, where the schedule is known, S1 and S2."""

    steps: Values
    spent: Values | None = None
    annealed: Values | None = None

    def first(self, count: int) -> Inputs:
        """The first few places."""
        return self.select(slice(0, count))

    def select(self, kept: slice | npt.NDArray[np.int64]) -> Inputs:
        """Some of the places."""
        return Inputs(
            self.steps[kept],
            None if self.spent is None else self.spent[kept],
            None if self.annealed is None else self.annealed[kept],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A fitted curve: its family, its exponent (or length), offset, and floor, height and annealing."""

    family: str
    shape: float
    offset: float
    linear: Values
    loss: float
    length: float

    def at(self, inputs: Inputs) -> Values:
        """The curve at other places."""
        design = _design(self.family, inputs, np.array([[self.shape, self.offset]]), self.length)[0]
        return np.asarray(design[:, : len(self.linear)] @ self.linear, dtype=np.float64)


def fit(
    family: str, inputs: Inputs, values: Values, relative: bool, near: Curve | None = None
) -> Curve | None:
    """The closest curve of a family; `relative` counts distances as factors, for values above zero.

    Given a curve that it is `near`, only shapes like that one's are tried.
    """
    length = float((inputs.spent if family == LR_SUM and inputs.spent is not None else inputs.steps)[-1])
    if length <= 0.0 or len(values) < 8:
        return None
    found = _closest(family, inputs, values, relative, _shapes(family, near), length)
    if found is None or near is not None:
        return found
    for apart in REFINED:
        finer = _closest(family, inputs, values, relative, _around(found, apart), length)
        found = finer if finer is not None and finer.loss < found.loss else found
    return found


def _closest(
    family: str, inputs: Inputs, values: Values, relative: bool, shapes: Values, length: float
) -> Curve | None:
    designs = _design(family, inputs, shapes, length)
    best: Curve | None = None
    for used in _combinations(family, inputs):
        linear, losses = _solved(designs[:, :, used], values, relative)
        ok = _is_sound(linear, used, relative) & np.isfinite(losses)
        if not ok.any():
            continue
        at = int(np.argmin(np.where(ok, losses, np.inf)))
        whole = np.zeros(designs.shape[2])
        whole[used] = linear[at]
        # A term more must earn its place.
        penalised = float(losses[at]) * (1.0 + 2.0 * len(used) / len(values))
        if best is None or penalised < best.loss:
            best = Curve(family, float(shapes[at, 0]), float(shapes[at, 1]), whole, penalised, length)
    return best


def _shapes(family: str, near: Curve | None) -> Values:
    """The exponents and offsets that are tried, one pair a row."""
    if family == DECAY:
        return np.stack([DECAYS, np.zeros(len(DECAYS))], axis=1)
    exponents, offsets = EXPONENTS, OFFSETS
    if near is not None:
        exponents = _neighbours(exponents, near.shape, 4)
        offsets = _neighbours(offsets, near.offset, 2)
    return np.array(list(product(exponents, offsets)), dtype=np.float64)


def _around(curve: Curve, apart: float) -> Values:
    """Shapes a little smaller and larger than those of a curve."""
    factors = np.exp(apart * np.array([-1.0, -0.5, 0.0, 0.5, 1.0]))
    if curve.family == DECAY:
        return np.stack([curve.shape * factors, np.zeros(len(factors))], axis=1)
    offsets = max(curve.offset, float(OFFSETS[1]) / 2.0) * np.exp(3.0 * apart * np.linspace(-1.0, 1.0, 5))
    return np.array(list(product(curve.shape * factors, [curve.offset, *offsets])), dtype=np.float64)


def _neighbours(grid: Values, value: float, reach: int) -> Values:
    at = int(np.argmin(np.abs(grid - value)))
    return grid[max(0, at - reach) : at + reach + 1]


def _design(family: str, inputs: Inputs, shapes: Values, length: float) -> Cube:
    """For each shape, the columns of floor, height and annealing at each place."""
    x = inputs.spent if family == LR_SUM and inputs.spent is not None else inputs.steps
    shape, offset = shapes[:, :1], shapes[:, 1:]
    if family == DECAY:
        fall = np.exp(-np.maximum(x, 0.0)[None, :] / (shape * length))
    else:
        fall = (np.maximum(x, 0.0)[None, :] / length + offset + 1e-4) ** -shape
    columns = [np.ones_like(fall), fall]
    if family == LR_SUM and inputs.annealed is not None:
        columns.append(np.broadcast_to(-inputs.annealed[None, :] / length, fall.shape))
    return np.stack(columns, axis=2)


def _combinations(family: str, inputs: Inputs) -> list[list[int]]:
    """The columns that are tried together: with and without a floor, with and without annealing."""
    plain = [[0, 1], [1]]
    if family != LR_SUM or inputs.annealed is None or float(np.ptp(inputs.annealed)) <= 0.0:
        return plain
    return [*plain, [0, 1, 2], [1, 2]]


def _is_sound(linear: Values, used: list[int], relative: bool) -> npt.NDArray[np.bool_]:
    """Falling curves, above zero where they are positive, which annealing lowers."""
    ok = linear[:, used.index(1)] > 0.0
    if 0 in used and relative:
        ok &= linear[:, used.index(0)] >= 0.0
    if 2 in used:
        ok &= linear[:, used.index(2)] >= 0.0
    return np.asarray(ok)


def _solved(designs: Cube, values: Values, relative: bool) -> tuple[Values, Values]:
    """The linear part for each shape, and the soft distance that it leaves."""
    unit = np.maximum(np.abs(values), 1e-300) if relative else np.ones(len(values))
    weights = np.broadcast_to(1.0 / unit**2, designs.shape[:2]).copy()
    linear = np.zeros((len(designs), designs.shape[2]))
    losses = np.full(len(designs), np.inf)
    for _ in range(ROUNDS):
        weighted = designs * weights[:, :, None]
        normal = np.einsum("gni,gnj->gij", weighted, designs)
        scale = np.trace(normal, axis1=1, axis2=2)[:, None, None]
        normal = normal + 1e-10 * scale * np.eye(designs.shape[2])
        right = np.einsum("gni,n->gi", weighted, values)
        linear = np.linalg.solve(normal, right[:, :, None])[:, :, 0]
        made = np.einsum("gni,gi->gn", designs, linear)
        off = np.log(np.maximum(made, 1e-300) / unit) if relative else made - values
        noise = np.maximum(1.4826 * np.median(np.abs(off), axis=1, keepdims=True), LEAST_NOISE)
        soft = np.sqrt(1.0 + (off / (SOFT * noise)) ** 2)
        losses = np.sum(soft - 1.0, axis=1) * (noise[:, 0] * SOFT) ** 2
        weights = 1.0 / (unit**2 * soft)
    return linear, losses
