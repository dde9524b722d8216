"""What a verdict says for itself, and what a reader of a trial should know about it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from stethoscope.trials.effects import ALPHA, Bench, Shown, State, is_cure, share_of
from stethoscope.trials.paired import smallest_probability
from stethoscope.trials.scores import broken_arms, failed_runs, score_of_failures
from stethoscope.trials.trial import Class, Effect, Ending, Outcome, Trial, Verdict

MOST_SEEDS_ADVISED = 200  # more than anybody runs to settle one change
# Standard errors: 1.96 for the interval or the test, and 1.64 to get there 95 times in 100.
TO_DECIDE = 3.6


def why(classes: tuple[Class, ...], seen: Shown, bench: Bench) -> str:
    """The numbers behind a class, in one sentence."""
    if classes == (Class.UNDECIDED,):
        return _why_open(seen, bench)
    said = []
    if seen.alone is not None:
        said.append(f"alone it {_does(seen.alone, seen.alone_is, bench)}")
    if seen.within is not None and seen.within is not seen.alone:
        said.append(f"beside the other fixes it {_does(seen.within, seen.within_is, bench)}")
    if {State.BETTER, State.WORSE} == seen.states:
        said.append("what it does depends on the other fixes")
    return "; ".join(said)


def yardstick_why(moved: Effect | None) -> str:
    """Why a change is said to move what is measured."""
    if moved is None:
        return "it edits what the run is measured by, and no frozen evaluator says what the model does"
    return f"the run's own score moves by {moved.mean:+.4g}, and by the frozen evaluator the model does not"


def refusal_why(run: Outcome) -> str:
    """Why a change is said to break the program."""
    said = next((line.strip() for line in reversed(run.tail) if line.strip()), "nothing")
    return f"with it the program ends before it measures anything ({run.why}); it said: {said}"


def notes_on(
    trial: Trial, outcomes: Sequence[Outcome], bench: Bench, placebo: Verdict | None, same: bool
) -> tuple[str, ...]:
    """What to know before believing any of the verdicts."""
    return (
        *_about_seeds(trial, same),
        *_about_failures(trial, outcomes),
        *_about_cure(bench),
        *_about_placebo(bench, placebo),
    )


def _why_open(seen: Shown, bench: Bench) -> str:
    if seen.alone is None and seen.within is None:
        return "its runs gave no score to compare"
    sides = ((seen.alone, seen.alone_is), (seen.within, seen.within_is))
    open_ones = [effect for effect, state in sides if effect is not None and state is State.OPEN]
    if not open_ones:
        return "only one of its two comparisons has scores"
    widest = max(open_ones, key=lambda effect: effect.high - effect.low)
    if len(widest.seeds) < 2:
        return "one seed is no comparison"
    between = f"its effect lies between {widest.low:+.3g} and {widest.high:+.3g}"
    return f"{between}; {_advice(widest, bench.margin)}"


def _advice(effect: Effect, margin: float) -> str:
    """How many seeds would probably decide, from the spread of the differences seen."""
    count = len(effect.seeds)
    if smallest_probability(count) > ALPHA:
        return f"{count} seeds cannot reach p = .05, at least 6 can"
    spread = float(np.std(effect.differences, ddof=1))
    reached = max(margin, abs(effect.mean))
    needed = math.ceil((TO_DECIDE * spread / reached) ** 2) if reached > 0 else MOST_SEEDS_ADVISED + 1
    if needed > MOST_SEEDS_ADVISED:
        return f"{MOST_SEEDS_ADVISED} seeds would not decide: measure longer, or give a wider --margin"
    return f"about {max(needed, count + 2)} seeds would probably decide"


def _does(effect: Effect, state: State, bench: Bench) -> str:
    if state is State.NONE and not any(effect.differences):
        return "changes nothing: every seed gives the same score"
    if state is State.NONE:
        return f"moves the score by {effect.mean:+.3g}, surely less than the margin of {bench.margin:.3g}"
    between = f"({effect.low:+.3g} to {effect.high:+.3g})"
    if state is State.OPEN:
        return f"is not decided {between}"
    share = f", {abs(share_of(effect, bench)):.0%} of the cure" if is_cure(bench) else ""
    does = "brings" if effect.mean > 0 else "takes away"
    return f"{does} {abs(effect.mean):.3g}{share} {between}"


def _about_seeds(trial: Trial, same: bool) -> Iterator[str]:
    if same:
        yield (
            "Every seed gave the same run: the command does not use the seed. "
            "Pass it with {seed} or --seed-variable."
        )
    count = len(trial.seeds)
    if smallest_probability(count) > ALPHA:
        least = smallest_probability(count)
        yield f"{count} seeds cannot show an effect: the smallest p is {least:.3g}. Eight are advised."


def _about_failures(trial: Trial, outcomes: Sequence[Outcome]) -> Iterator[str]:
    failed = len(failed_runs(trial, outcomes))
    if not failed:
        return
    value = score_of_failures(trial, outcomes)
    kind = "the bar" if trial.metric.bar is not None else "no better than the worst start of any run"
    counted = f"; they count as {value:.4g}, {kind}." if value is not None else ", and nothing says how bad."
    yield f"{failed} of {len(outcomes)} runs failed{counted}"
    for arm in sorted(broken_arms(outcomes)):
        first = next(one for one in outcomes if one.arm == arm and one.ending is Ending.BROKEN)
        said = next((line.strip() for line in reversed(first.tail) if line.strip()), "nothing")
        yield f"Every run of the arm {arm!r} broke: {first.why}; it said: {said}"


def _about_cure(bench: Bench) -> Iterator[str]:
    distance = bench.distance
    if distance is None:
        return
    if distance.p_adjusted > ALPHA:
        yield "All fixes together are not certainly better than none, so none of them can be called a cure."
    elif distance.mean < 0:
        yield "All fixes together make it worse."


def _about_placebo(bench: Bench, placebo: Verdict | None) -> Iterator[str]:
    if placebo is not None and placebo.classes in ((Class.HELPFUL,), (Class.HARMFUL,)):
        yield (
            "The placebo moved the score, so something else than the changes differs between the arms: "
            "trust nothing here before that is found."
        )
