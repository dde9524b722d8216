"""Every signal of both runs, held against each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stethoscope.compare.comparison import Signal, Signals
from stethoscope.compare.pairing import Paired, paired
from stethoscope.compare.parting import FEWEST_POINTS, OF_THE_MACHINE, SET, equal_until, parting
from stethoscope.run import Run

ALPHA = 0.01  # of all pairs of runs that differ in their seeds alone, so many are said to part at most
TOO_FEW = f"fewer than {FEWEST_POINTS} values at common steps"
MACHINE = "it tells of the machine, not of the training"


def compared_signals(goods: Sequence[Run], bad: Run, alpha: float = ALPHA) -> Signals:
    """Where each signal parts; the chance of an error is shared out among those that are tested."""
    pairs: list[Paired] = []
    left_out: list[tuple[str, str]] = []
    for name in sorted(set(bad.series).intersection(*(run.series for run in goods))):
        pair = (
            MACHINE
            if name.startswith(OF_THE_MACHINE)
            else paired([run.series[name] for run in goods], bad.series[name])
        )
        if isinstance(pair, str):
            left_out.append((name, pair))
        else:
            pairs.append(pair)
    left_out += [(name, "only the bad run has it") for name in sorted(_only_in(bad, goods))]
    left_out += [(name, "only a good run has it") for run in goods for name in sorted(_only_in(run, [bad]))]
    tested = sum(not pair.name.startswith(SET) and len(pair) >= FEWEST_POINTS for pair in pairs)
    by_plateau = any(_follows_plateaus(run) for run in (*goods, bad))
    signals = [_signal(pair, goods, bad, alpha / max(tested, 1), by_plateau) for pair in pairs]
    left_out += [(one.name, TOO_FEW) for one in signals if one.points < FEWEST_POINTS and one.part is None]
    identical = [_identical(pair) for pair in pairs if not pair.name.startswith(SET)]
    return Signals(
        tuple(sorted(signals, key=_order)),
        tuple(dict.fromkeys(left_out)),
        _steps(pairs),
        _all_identical_until(signals, pairs),
        bool(identical) and all(identical),
    )


def _only_in(run: Run, others: Sequence[Run]) -> set[str]:
    known = set.intersection(*(set(other.series) for other in others))
    return {name for name in run.series if name not in known and not name.startswith(OF_THE_MACHINE)}


def _signal(pair: Paired, goods: Sequence[Run], bad: Run, alpha: float, by_plateau: bool) -> Signal:
    first, last = int(pair.steps[0]), int(pair.steps[-1])
    part = parting(pair, alpha, by_plateau)
    until = equal_until(pair) if not pair.stretched else None
    where = goods[0].series[pair.name].where(first, last), bad.series[pair.name].where(first, last)
    return Signal(pair.name, len(pair), (first, last), part, until, where)


def _order(signal: Signal) -> tuple[bool, int, int, str]:
    """What parts before what does not; the earlier first, what leads to others before what follows."""
    if signal.part is None:
        return True, 0, _rank(signal.name), signal.name
    return False, signal.part.step, _rank(signal.name), signal.name


def _rank(name: str) -> int:
    known = ("lr", "weight/", "difficulty", "loss_scale", "grad_norm", "loss", "train/", "val/")
    return next((place for place, start in enumerate(known) if name.startswith(start)), len(known))


def _steps(pairs: Sequence[Paired]) -> tuple[int, int] | None:
    counted = [pair for pair in pairs if len(pair)]
    if not counted:
        return None
    return min(int(pair.steps[0]) for pair in counted), max(int(pair.steps[-1]) for pair in counted)


def _identical(pair: Paired) -> bool:
    return any(np.array_equal(row, pair.bad, equal_nan=True) for row in pair.good)


def _all_identical_until(signals: Sequence[Signal], pairs: Sequence[Paired]) -> int | None:
    """The step up to which all measured signals are the same, digit for digit; None where one is not.

    A signal that differs from its first point on speaks only from that step.
    """
    measured = [(one, pair) for one, pair in zip(signals, pairs, strict=True) if not one.name.startswith(SET)]
    if not any(one.equal_until is not None for one, _ in measured):
        return None
    until = max(one.equal_until for one, _ in measured if one.equal_until is not None)
    for _, pair in measured:
        same = np.any([(row == pair.bad) | (np.isnan(row) & np.isnan(pair.bad)) for row in pair.good], axis=0)
        if not same.all() and not pair.stretched:
            until = min(until, int(pair.steps[int(np.argmin(same))]) - 1)
    first = min(int(pair.steps[0]) for _, pair in measured)
    return until if until >= first else None


def _follows_plateaus(run: Run) -> bool:
    """Whether the learning rate answers to what is measured, so that it falls elsewhere with each seed."""
    spoken = (f"{setting.dotted} {setting.value}" for setting in run.recipe or ())
    if any("plateau" in one.lower() for one in spoken):
        return True
    return run.program is not None and any("plateau" in source.text.lower() for source in run.program)
