"""trajectory: what a healthy run looks like beforehand, and whether a run does.

trajectory.py       the nouns: signals with their bands, phases, warning signs, when to look
planning.py         from healthy runs, from the healthy part of a run, or from its recipe
reference.py        the band that healthy runs show
knots.py            the steps that are named, and the curve through them
forecast/           how a curve goes on beyond what is known
schedule.py         the learning rate, which is computed
toml_writing.py     the file, written for people
toml_reading.py     the file, read back; toml_places.py says on which line a key stands
holding.py          a run held to a trajectory
levels.py           the level of a noisy series, and how well it is known
signs.py            warning signs
shares.py           per cent and fractions
false_alarms.py     many judgements, few false alarms
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from stethoscope.run import Run
from stethoscope.trajectory.holding import Judgement, Outcome, hold
from stethoscope.trajectory.planning import Basis, plan
from stethoscope.trajectory.toml_reading import BadTrajectory, read, read_file
from stethoscope.trajectory.toml_writing import written
from stethoscope.trajectory.trajectory import Trajectory

__all__ = [
    "BadTrajectory",
    "Basis",
    "Judgement",
    "Outcome",
    "Trajectory",
    "hold",
    "plan",
    "read",
    "read_file",
    "write_for",
    "written",
]


def write_for(
    run: Run,
    healthy: Sequence[Run] = (),
    *,
    until: int | None = None,
    doubted: AbstractSet[str] = frozenset(),
    nothing_healthy: str = "",
) -> str:
    """The text of `stethoscope.toml` for the next run of this recipe; see `Basis` for what the words mean."""
    return written(plan(Basis(run, healthy, until, doubted, nothing_healthy)))
