"""Spikes of the loss, graded by what they leave behind.

One high value is a note. A spike that lasts is a warning, and a wish to go back, unless something else
explains it: a learning rate that a schedule raised again, or a step up with nothing before it that could have
moved the weights, which speaks of the data. A spike that is coming down is given time, as long as half of
what was learned is not lost; so is one with nothing beside it that hit the weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from stethoscope.detectors import persistence
from stethoscope.detectors.aftermath import RAISED
from stethoscope.detectors.persistence import Course, Watch
from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.detectors.spike import SpikeState, is_wide
from stethoscope.guard.happening import Answer, Happening, Kind, Severity
from stethoscope.guard.judges import level_shift
from stethoscope.guard.judges.around import RESTART, Around
from stethoscope.guard.judges.trace import Point, Trace, risen_part
from stethoscope.guard.observation import Observation

OF_GAIN = 0.02  # a spike below this share of all that was learned does not matter, as in the post-mortem
GAIN_LOST = 0.1  # a lasting rise below this share does not either
WIDE_RAISED = 2.5  # deviations above the level that count as not recovered where noise is wide: 4 are blind
CHECKS = (8, 32, 128)  # steps after a spike at which one that does not come down is held against the weights
SETTLING = 0.7  # of the height before: what stands lower than that is coming down
LIKE_THE_REST = math.log(1.5)  # the first value of a step up is like those that follow, one bad batch is not
GROWING = math.log(1.1)  # between earlier values and the last: it still rises
RAMP = 0.1  # of the spike's height: a loss that had climbed so far before it was on its way up
HALF = 0.5  # of all that was learned: once it is lost, going back loses less than waiting
LEARNED = 2.0  # deviations by which the first level stands above the last where anything was learned
WITHIN = 3.0  # deviations of the values behind a spike: one that stands no higher is noise that grew wider
WILD = 10.0  # times the first level: no game and no schedule explains that


@dataclass(frozen=True, slots=True)
class OpenSpike:
    """A spike that is being watched: when it began, its first and its highest value, what was said of it.

    `crept` says that the loss was already on its way up before, `alike` that the first values after it were
    like it. `checks` counts the checks that were made, `height` is how far it stood above the level at the
    last one.
    """

    at: int
    first: float
    peak: float
    watch: Watch
    crept: bool = False
    alike: bool = False
    lasts: bool = False
    checks: int = 0
    height: float = 0.0


def opened(
    before: SpikeState, clock: int, seen: Observation, value: float, lately: tuple[Point, ...], trace: Trace
) -> tuple[OpenSpike | None, tuple[Happening, ...]]:
    """Begin to watch at a value far above the level, if it matters beside what was learned.

    `lately` are the values just before it.
    """
    usual = math.exp(before.level) if before.logarithmic else before.level
    if not matters(trace, usual, value, OF_GAIN):
        return None, ()
    watch = persistence.init(before, WIDE_RAISED if is_wide(before) else RAISED)
    first = persistence.coordinate(watch, value)
    told = _spike(seen, value, usual, watch, risen_part(trace, seen.values))
    return OpenSpike(clock, first, value, watch, _crept(watch, lately, first)), (told,)


def watched(
    state: OpenSpike, clock: int, seen: Observation, value: float, trace: Trace, around: Around
) -> tuple[OpenSpike | None, tuple[Happening, ...]]:
    """Take the next value after a spike, and say how it ends once that is clear."""
    watch, course = persistence.update(state.watch, value)
    state = replace(state, watch=watch, peak=max(state.peak, value))
    if course is Course.OVER:
        return None, (_over(seen, state, clock),) if state.lasts else ()
    if course is Course.UNKNOWN:
        return state, ()
    if is_told(state) or clock - state.at < CHECKS[state.checks]:
        return state, ()
    if state.checks == 0:
        state = replace(state, alike=_is_alike(state))
    told, settled = _lasting(state, clock, seen, trace, around)
    checks = len(CHECKS) if settled else state.checks + 1
    height = median(watch.last) - watch.level
    return replace(state, lasts=True, checks=checks, height=height), (told,)


def is_told(state: OpenSpike) -> bool:
    """Whether there will be nothing more to tell of a spike, other than its end."""
    return state.checks == len(CHECKS)


def matters(trace: Trace, before: float, after: float, share: float) -> bool:
    """Whether a rise undoes a visible part of what has been learned since the first steps."""
    learned = 0.0 if trace.first is None else max(trace.first - before, 0.0)
    return after - before >= share * learned


def _crept(watch: Watch, lately: tuple[Point, ...], first: float) -> bool:
    """Whether the values just before a spike stood above the level as well."""
    if not lately:
        return False
    climbed = median(persistence.coordinate(watch, value) for _, value in lately) - watch.level
    return climbed > max(watch.sd, RAMP * (first - watch.level))


def _is_alike(state: OpenSpike) -> bool:
    """Whether the first value is like those right behind it: one bad batch among good ones is not."""
    watch, (early, _) = state.watch, _halves(state.watch)
    near = LIKE_THE_REST if watch.logarithmic else LIKE_THE_REST * abs(early - watch.level)
    return abs(state.first - early) <= max(4.0 * watch.sd, near)


def _lasting(
    state: OpenSpike, clock: int, seen: Observation, trace: Trace, around: Around
) -> tuple[Happening, bool]:
    """What to tell of a spike that lasts, and whether that is all there will be to tell."""
    if not _is_blamed(state, trace, around):
        return _told(state, clock, seen, trace, around, Severity.NOTE), True
    if _is_wider_noise(state.watch) and not _is_wild(state, trace):
        return _told(state, clock, seen, trace, around, Severity.NOTE), False
    of_data = _is_step(state) and around.is_quiet(state.at)
    if _is_settling(state) and not (state.lasts and _is_lost(state, trace)):
        severity = Severity.WARNING if state.lasts and not of_data else Severity.NOTE
        return _told(state, clock, seen, trace, around, severity), False
    if not state.lasts and (of_data or (around.is_quiet(clock) and not _is_wild(state, trace))):
        # Nothing seen has hit the weights, so there is no hurry; some spikes take longer to come down.
        return _told(state, clock, seen, trace, around, Severity.NOTE), False
    if of_data:
        before, after = _levels(state.watch)
        part = risen_part(trace, seen.values)
        return level_shift.shifted(seen, clock - state.at, before, after, part), True
    return _told(state, clock, seen, trace, around, Severity.WARNING, Answer.REWIND), True


def _is_wider_noise(watch: Watch) -> bool:
    """Whether the values behind a spike differ so much among each other that their level may be as before."""
    return median(watch.last) - watch.level <= WITHIN * noise_sd(np.array(watch.last, dtype=np.float64))


def _is_blamed(state: OpenSpike, trace: Trace, around: Around) -> bool:
    """Whether the weights may be at fault: it matters, and neither a game nor a schedule explains it."""
    before, after = _levels(state.watch)
    if not matters(trace, before, after, GAIN_LOST):
        return False
    return _is_wild(state, trace) or not (trace.is_game or around.restarted(state.at))


def _is_wild(state: OpenSpike, trace: Trace) -> bool:
    """Whether the loss stands many times above its first level."""
    _, after = _levels(state.watch)
    return trace.first is not None and after > WILD * abs(trace.first)


def _is_step(state: OpenSpike) -> bool:
    """Whether the loss went up at once and has not risen since."""
    return not state.crept and state.alike and not _is_growing(state)


def _is_growing(state: OpenSpike) -> bool:
    """Whether the loss rises still: within the first values, or since the last check."""
    watch, (early, late) = state.watch, _halves(state.watch)
    if state.lasts:
        early, late = watch.level + state.height, median(watch.last)
    flat = GROWING if watch.logarithmic else GROWING * abs(early - watch.level)
    return late - early > max(2.0 * watch.sd, flat)


def _is_settling(state: OpenSpike) -> bool:
    """Whether it comes down: within the first values, or since the last check."""
    early, late = (one - state.watch.level for one in _halves(state.watch))
    return late < SETTLING * (state.height if state.lasts else early)


def _is_lost(state: OpenSpike, trace: Trace) -> bool:
    """Whether half of what was learned is gone, or more, where that stood out from the noise at all."""
    watch = state.watch
    if trace.first is None or persistence.coordinate(watch, trace.first) <= watch.level + LEARNED * watch.sd:
        return False
    before, after = _levels(state.watch)
    return matters(trace, before, after, HALF)


def _halves(watch: Watch) -> tuple[float, float]:
    half = len(watch.last) // 2
    return median(watch.last[:half]), median(watch.last[half:])


def _levels(watch: Watch) -> tuple[float, float]:
    """The loss before the spike and after it."""
    after = median(watch.last)
    return (math.exp(watch.level), math.exp(min(after, 700.0))) if watch.logarithmic else (watch.level, after)


def _spike(
    seen: Observation, value: float, usual: float, watch: Watch, part: tuple[str, float, float] | None
) -> Happening:
    y = persistence.coordinate(watch, value)
    distance = (y - watch.level) / watch.sd
    facts: dict[str, object] = {"loss": value, "usual": usual, "deviations": round(distance, 2)}
    return Happening(
        Kind.LOSS_SPIKE,
        seen.step,
        Severity.NOTE,
        f"The loss is {value:.4g} at step {seen.step:,}, {distance:.3g} deviations above its usual "
        f"{usual:.4g}{_carried(part)}.",
        "One high value is an unusual batch until the next ones say otherwise.",
        facts={**facts, **_part_facts(part)},
    )


def _over(seen: Observation, state: OpenSpike, clock: int) -> Happening:
    return Happening(
        Kind.LOSS_SPIKE,
        seen.step,
        Severity.NOTE,
        f"The loss is back at its level {clock - state.at} steps after the spike.",
        facts={"which": "over", "steps": clock - state.at, "peak": state.peak},
        onset=seen.step - (clock - state.at),
    )


def _told(
    state: OpenSpike,
    clock: int,
    seen: Observation,
    trace: Trace,
    around: Around,
    severity: Severity,
    answer: Answer = Answer.NONE,
) -> Happening:
    before, after = _levels(state.watch)
    took = clock - state.at
    part = risen_part(trace, seen.values)
    rate = around.rate
    leapt = rate.leapt is not None and rate.leapt >= state.at - RESTART
    why = (
        f" The learning rate went from {rate.leapt_from:g} to {rate.leapt_to:g} shortly before."
        if leapt
        else ""
    )
    return Happening(
        Kind.LASTING_SPIKE,
        seen.step,
        severity,
        f"The loss stands at {after:.4g} {took} steps after a spike to {state.peak:.4g}; before it was "
        f"{before:.4g}{_carried(part)}.{why}",
        "A spike that lasts may have damaged the weights or the optimizer's averages; some come down by "
        "themselves, many do not.",
        "go back to a checkpoint from before the spike, skip the data around it, lower the learning rate.",
        {"before": before, "after": after, "peak": state.peak, "steps": took, **_part_facts(part)},
        answer,
        onset=seen.step - took,
    )


def _carried(part: tuple[str, float, float] | None) -> str:
    return "" if part is None else f", mostly in {part[0]} ({part[1]:.4g} before, {part[2]:.4g} here)"


def _part_facts(part: tuple[str, float, float] | None) -> dict[str, object]:
    return {} if part is None else {"part": part[0], "part_before": part[1], "part_after": part[2]}
