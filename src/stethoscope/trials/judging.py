"""judge: the scores of all runs in, what each change does out.

A change is judged by two differences of runs on the same seeds: what it does alone (the sick project with it
and without it), and what the cured project loses without it. Each is one of four:

    none            the 95 % interval lies inside the margin, and no effect of size is certain
    better, worse   the exact probability, for all effects of the trial together, is at most .05
    open            neither
"""

from __future__ import annotations

from collections.abc import Sequence

from stethoscope.trials.effects import Bench, Shown, State, bench_of, is_cure, share_of, shown
from stethoscope.trials.scores import broken_arms, scores_of
from stethoscope.trials.trial import (
    Arm,
    Change,
    Class,
    Effect,
    Ending,
    Outcome,
    Role,
    Trial,
    TrialResult,
    Verdict,
)
from stethoscope.trials.verdict_words import notes_on, refusal_why, why, yardstick_why

NECESSARY_SHARE = 0.5  # of the sickness comes back without the change
SUFFICIENT_SHARE = 0.8  # of the cure comes with the change alone
ONE_RUN = "every seed gave the same run, so this is one run and not several"


def judge(
    trial: Trial,
    arms: Sequence[Arm],
    outcomes: Sequence[Outcome],
    notes: Sequence[str] = (),
    complete: bool = True,
) -> TrialResult:
    """Class every change of a trial by the runs that are there."""
    bench = bench_of(trial, arms, scores_of(trial, outcomes))
    own = bench_of(trial, arms, scores_of(trial, outcomes, own=True)) if trial.evaluate else None
    same = same_on_every_seed(outcomes)
    broken = _broken_by(arms, outcomes)
    verdicts = tuple(
        _refusal(change, broken[change.name])
        if change.name in broken
        else _verdict(change, trial, bench, own, same)
        for change in trial.changes
    )
    placebo = _verdict(trial.placebo, trial, bench, None, same) if trial.placebo is not None else None
    said = (*notes, *notes_on(trial, outcomes, bench, placebo, same))
    return TrialResult(
        trial,
        tuple(arms),
        tuple(outcomes),
        verdicts,
        bench.distance,
        placebo,
        bench.margin,
        bench.margin_why,
        bench.seed_sd,
        tuple(dict.fromkeys(said)),
        complete,
    )


def same_on_every_seed(outcomes: Sequence[Outcome]) -> bool:
    """Whether the seed does nothing: several runs in an arm, and in no arm two that differ."""
    by_arm: dict[str, list[tuple[str, float | None]]] = {}
    for one in outcomes:
        if one.score is not None:
            by_arm.setdefault(one.arm, []).append((one.fingerprint, one.score))
    several = [runs for runs in by_arm.values() if len(runs) > 1]
    return bool(several) and all(len(set(runs)) == 1 for runs in several)


def _broken_by(arms: Sequence[Arm], outcomes: Sequence[Outcome]) -> dict[str, Outcome]:
    """The changes that alone break a program which runs without them, each with one of its runs."""
    broken = broken_arms(outcomes)
    if any(Role.SICK in arm.roles and arm.name in broken for arm in arms):
        return {}
    alone = {arm.name: arm.changes[0] for arm in arms if len(arm.changes) == 1 and arm.name in broken}
    return {alone[one.arm]: one for one in outcomes if one.arm in alone and one.ending is Ending.BROKEN}


def _refusal(change: Change, run: Outcome) -> Verdict:
    return Verdict(change.name, (Class.CANNOT_BE_APPLIED,), refusal_why(run))


def _verdict(change: Change, trial: Trial, bench: Bench, own: Bench | None, same: bool) -> Verdict:
    seen = shown(change, trial, bench)
    moved = _moved_yardstick(change, trial, own)
    if same:
        classes: tuple[Class, ...] = (Class.UNDECIDED,)
        said = ONE_RUN
    elif _is_yardstick(change, trial, seen, moved):
        classes = (Class.CHANGES_YARDSTICK,)
        said = yardstick_why(moved)
    else:
        classes = _classes(change, seen, bench)
        said = why(classes, seen, bench)
    return Verdict(change.name, classes, said, seen.alone, seen.within, moved)


def _moved_yardstick(change: Change, trial: Trial, own: Bench | None) -> Effect | None:
    """What a change does to the run's own score, where that is certain and more than nothing."""
    if own is None:
        return None
    seen = shown(change, trial, own)
    for effect, state in ((seen.alone, seen.alone_is), (seen.within, seen.within_is)):
        if state in (State.BETTER, State.WORSE):
            return effect
    return None


def _is_yardstick(change: Change, trial: Trial, seen: Shown, moved: Effect | None) -> bool:
    """Whether what is measured moved and the model did not, or nothing can tell the two apart."""
    if not trial.evaluate:
        return change.yardstick and not seen.states.isdisjoint((State.BETTER, State.WORSE))
    return moved is not None and seen.states <= {State.NONE, State.MISSING} and State.NONE in seen.states


def _classes(change: Change, seen: Shown, bench: Bench) -> tuple[Class, ...]:
    # What a change does beside the other fixes comes first: that is what a person would live with.
    if seen.within_is is State.WORSE:
        return (Class.HARMFUL,)
    if State.BETTER in seen.states:
        return _how_good(seen, bench) or (Class.HELPFUL,)
    if seen.alone_is is State.WORSE:
        return (Class.HARMFUL,)
    if seen.alone_is is State.NONE and (not change.in_cure or seen.within_is is State.NONE):
        return (Class.NO_EFFECT,)
    return (Class.UNDECIDED,)


def _how_good(seen: Shown, bench: Bench) -> tuple[Class, ...]:
    """Necessary and sufficient, by the shares of a cure that is certain itself."""
    if not is_cure(bench):
        return ()
    found = []
    if seen.within_is is State.BETTER and share_of(seen.within, bench) >= NECESSARY_SHARE:
        found.append(Class.NECESSARY)
    if seen.alone_is is State.BETTER and share_of(seen.alone, bench) >= SUFFICIENT_SHARE:
        found.append(Class.SUFFICIENT)
    return tuple(found)
