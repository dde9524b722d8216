"""Which steps of a series are named, and the curve through them that lies closest to its points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stethoscope.run import Steps, Values

MOST_EVEN = 12  # named steps, evenly spread
MOST_EARLY = 5  # more of them where a curve falls fastest: each at half of the one after it
LEAST_BETWEEN = 4  # points between two named steps of a dense series
FEW = 2 * MOST_EVEN  # points of a series of which each is named by itself, or every other one
ROUNDS = 8  # of weighing points down that lie far from the curve
HUBER = 2.0  # noises; beyond it a point counts less


def named_steps(steps: Steps) -> tuple[int, ...]:
    """The steps at which a series with points at these steps is named."""
    if len(steps) <= FEW:
        kept = steps[:: -(-len(steps) // (MOST_EVEN + MOST_EARLY))]
        return tuple(sorted({*kept.tolist(), int(steps[-1])}))
    first, last = int(steps[0]), int(steps[-1])
    wanted = list(np.linspace(first, last, MOST_EVEN + 1))
    early = (wanted[1] - first) / 2.0
    for _ in range(MOST_EARLY):
        wanted.append(first + early)
        early /= 2.0
    chosen = [first]
    for step in sorted(wanted)[1:]:
        at = int(steps[np.argmin(np.abs(steps - step))])
        between = int(np.count_nonzero((steps > chosen[-1]) & (steps <= at)))
        if at > chosen[-1] and (between >= LEAST_BETWEEN or at == last):
            chosen.append(at)
    return tuple(chosen)


def curve_through(steps: Steps, values: Values, knots: tuple[int, ...]) -> tuple[Values, Values]:
    """The heights at the knots of the closest curve, straight over log(1 + step), and what is left over.

    Points that lie far off count less. A knot with no point near it takes its height from its neighbours.
    """
    place = np.log1p(np.asarray(knots, dtype=np.float64))
    design = _hats(np.log1p(steps.astype(np.float64)), place)
    # A little stiffness keeps the curve straight where there are no points.
    stiff = _bends(place) * 1e-3
    weight = np.ones(len(values))
    heights = np.zeros(len(knots))
    for _ in range(ROUNDS):
        rows = np.concatenate([design * weight[:, None], stiff])
        heights = np.linalg.lstsq(rows, np.concatenate([values * weight, np.zeros(len(stiff))]), rcond=None)[
            0
        ]
        left = values - design @ heights
        noise = 1.4826 * float(np.median(np.abs(left)))
        if noise <= 0.0:
            break
        weight = np.sqrt(np.minimum(1.0, HUBER * noise / np.maximum(np.abs(left), 1e-300)))
    return heights, values - design @ heights


def _hats(x: Values, place: Values) -> Values:
    """How much each knot counts at each point: linear interpolation as a matrix."""
    right = np.clip(np.searchsorted(place, x), 1, max(len(place) - 1, 1))
    made = np.zeros((len(x), len(place)))
    rows = np.arange(len(x))
    if len(place) == 1:
        made[:, 0] = 1.0
        return made
    span = place[right] - place[right - 1]
    share = np.clip((x - place[right - 1]) / span, 0.0, 1.0)
    made[rows, right - 1] = 1.0 - share
    made[rows, right] = share
    return made


def _bends(place: Values) -> npt.NDArray[np.float64]:
    """Rows that give the bend of a curve at each inner knot."""
    made = np.zeros((max(len(place) - 2, 0), len(place)))
    for at in range(len(made)):
        before, after = place[at + 1] - place[at], place[at + 2] - place[at + 1]
        made[at, at : at + 3] = (1.0 / before, -1.0 / before - 1.0 / after, 1.0 / after)
    return made / max(float(np.abs(made).max()), 1e-300) if len(made) else made
