"""compare: a good run, or several, and a bad one -> where they part, and what differs between them."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from stethoscope.compare.code_differences import code_differences
from stethoscope.compare.comparison import Comparison
from stethoscope.compare.environment import environment_differences
from stethoscope.compare.finding_differences import finding_differences
from stethoscope.compare.setting_differences import setting_differences
from stethoscope.compare.signal_partings import ALPHA, compared_signals
from stethoscope.compare.suspects import suspects
from stethoscope.diagnose import diagnose

__all__ = ["ALPHA", "Comparison", "compare"]

Path = str | PathLike[str]


def compare(good: Path | Sequence[Path], bad: Path, *, alpha: float = ALPHA) -> Comparison:
    """Compare a bad run with a good one; several good ones measure how much seeds differ.

    `alpha` is the chance that two runs that differ in their seeds alone are said to part. Settings, code and
    surroundings are held against those of the first good run.
    """
    paths = [good] if isinstance(good, str | PathLike) else list(good)
    goods, bad_one = tuple(diagnose(path) for path in paths), diagnose(bad)
    first = goods[0]
    compared = Comparison(
        goods,
        bad_one,
        compared_signals([one.run for one in goods], bad_one.run, alpha),
        setting_differences(first.run, bad_one.run),
        code_differences(first.run, bad_one.run),
        environment_differences(first.run, bad_one.run),
        finding_differences(goods, bad_one),
    )
    return suspects(compared)
