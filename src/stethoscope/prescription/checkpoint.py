"""The checkpoint to go back to: one that exists, ranked by a yardstick that means something."""

from __future__ import annotations

from stethoscope.findings import Finding
from stethoscope.prescription.case import Case
from stethoscope.prescription.ranking import Ranking, had_learned, pays_for_looks, ranking, recovers
from stethoscope.prescription.remedy import CheckpointAdvice
from stethoscope.run import Checkpoint, Holds

# Causes under which the model was trained on the wrong thing from its first step.
WRONG_FROM_THE_START = ("loss-sign-inverted",)
# Causes under which a score says little about the checkpoint that it stands beside.
FAULTY_YARDSTICK = (
    "ema-not-updated",
    "metric-aggregation-wrong",
    "metric-wrong",
    "validation-leak",
    "validation-not-comparable",
    "validation-set-unstable",
    "wrong-weights-evaluated",
)
# Rules that a run shows whose best was no better than nothing.
AT_NOTHING = frozenset(
    {"below-trivial-baseline", "loss-never-falls", "right-less-often-than-guessing", "score-stays-at-nothing"}
)
NOTHING_LEARNED = "No saved checkpoint had learned anything to go back for: train again."
DECLINES = ("overfit-gap", "peak-then-decline")
BREAKDOWNS = ("divergence", "non-finite-values", "loss-scale-collapse", "loss-spike")

LOST_WITH_WEIGHTS_ONLY = (
    "optimizer moments",
    "schedule position",
    "loss scale",
    "random state and data order",
)
LOST_WITH_STATE = ("random state and data order, unless the loop restores them",)


def go_back_to(case: Case) -> tuple[CheckpointAdvice | None, str]:
    """The advice, or None with the reason why there is none."""
    if not case.explanation.symptoms:
        return None, ""
    decline, breakdown = _first(case, DECLINES), _first(case, BREAKDOWNS)
    peak = decline.evidence.get("best_step", decline.onset) if decline is not None else None
    if decline is not None and isinstance(peak, int):
        return _after_decline(case, peak, decline.places[0].series or "the metric")
    if breakdown is not None and breakdown.onset is not None:
        return _after_breakdown(case, breakdown.onset)
    return _where_much_was_lost(case), ""


def _first(case: Case, rules: tuple[str, ...]) -> Finding | None:
    symptoms = {found.rule.name: found.finding for found in case.explanation.symptoms}
    return next((symptoms[rule] for rule in rules if rule in symptoms), None)


def _after_decline(case: Case, peak: int, metric: str) -> tuple[CheckpointAdvice | None, str]:
    """The checkpoint that the scores call best, where they can call any so."""
    near = _nearest(case, peak, _reach(case, metric))
    missing = _missing_at(case, peak, metric) if near is None else ""
    doubt = _doubt(case)
    if doubt:
        return None, f"{missing} {doubt}".strip()
    ranked = ranking(case.run, _steps(case), metric)
    if ranked is None:
        return (_at_peak(case, near, peak, metric), "") if near is not None else (None, missing)
    if ranked.best is None:
        return None, f"The scores disagree on the checkpoints: best are {ranked.told}."
    if not _is_worth_it(case, ranked, ranked.best):
        return None, NOTHING_LEARNED
    best = _at(case, ranked.best)
    if abs(ranked.best - peak) <= _reach(case, metric):
        return _at_peak(case, best, peak, metric), ""
    if ranked.first.is_clearly_better(ranked.best, max(_steps(case))):
        return _advice(case, best, f"of those saved the one with the best {metric}"), ""
    return None, missing


def _at_peak(case: Case, checkpoint: Checkpoint, peak: int, metric: str) -> CheckpointAdvice:
    return _advice(case, checkpoint, f"the saved checkpoint nearest to the best {metric}, at step {peak:,}")


def _after_breakdown(case: Case, onset: int) -> tuple[CheckpointAdvice | None, str]:
    """The best checkpoint by the scores; without scores the last one before trouble, unless that passed."""
    doubt = _doubt(case)
    if doubt == NOTHING_LEARNED:
        return None, doubt
    ranked = None if doubt else ranking(case.run, _steps(case))
    best = ranked.best if ranked is not None else None
    if ranked is None and _steps(case) and recovers(case.run, onset):
        why = f"the last one saved: the training loss went on falling after the trouble at step {onset:,}"
        return _advice(case, _at(case, max(_steps(case)), whole=True), why), ""
    if ranked is None or best is None or best < onset:
        return _last_before(case, onset, ranked)
    if not _is_worth_it(case, ranked, best):
        return None, NOTHING_LEARNED
    why = f"{ranked.first.name} is best there: it went on improving after the trouble at step {onset:,}"
    return _advice(case, _at(case, best, whole=True), why), ""


def _where_much_was_lost(case: Case) -> CheckpointAdvice | None:
    """A checkpoint that every score calls better than the last one, past doubt, whatever it was lost to."""
    steps = _steps(case)
    ranked = ranking(case.run, steps) if steps and not _doubt(case) else None
    if ranked is None or ranked.best is None or not _is_worth_it(case, ranked, ranked.best):
        return None
    if not all(one.is_clearly_better(ranked.best, max(steps)) for one in ranked.yardsticks):
        return None
    return _advice(case, _at(case, ranked.best), f"of those saved the one with the best {ranked.first.name}")


def _doubt(case: Case) -> str:
    """Why no checkpoint of this run can be ranked, if that is so."""
    if any(case.cause(name) for name in WRONG_FROM_THE_START):
        return "Every checkpoint was trained against its own metric from the first step: train again."
    if any(case.cause(name) for name in FAULTY_YARDSTICK):
        return (
            "The scores cannot rank the checkpoints: evaluate the saved ones with the corrected validation."
        )
    if any(found.rule.name in AT_NOTHING for found in case.explanation.symptoms):
        return NOTHING_LEARNED
    if pays_for_looks(case.run) and ranking(case.run, _steps(case)) is None:
        return (
            "A term of the loss rewards what looks right, which costs the errors that were measured: "
            "compare what the saved checkpoints make."
        )
    return ""


def _is_worth_it(case: Case, ranked: Ranking | None, step: int) -> bool:
    """Whether a checkpoint had learned anything: its training loss says so, or what was lost after it."""
    lost = ranked is not None and ranked.loses_much(step, max(_steps(case)))
    return lost or had_learned(case.run, step)


def _last_before(case: Case, onset: int, ranked: Ranking | None) -> tuple[CheckpointAdvice | None, str]:
    """The last checkpoint before trouble, or an earlier one that the scores call the best of all."""
    earlier = [step for step in _steps(case) if step < onset]
    if not earlier:
        return None, f"No checkpoint was saved before the trouble began at step {onset:,}{_saved_at(case)}."
    best = ranked.best if ranked is not None else None
    chosen = max(earlier) if best is None else best
    if not _is_worth_it(case, ranked, chosen):
        return None, NOTHING_LEARNED
    which = "last one" if chosen == max(earlier) else "best one"
    why = f"the {which} saved before the trouble began at step {onset:,}"
    return _advice(case, _at(case, chosen, whole=True), why), ""


def _advice(case: Case, checkpoint: Checkpoint, why: str) -> CheckpointAdvice:
    return CheckpointAdvice(checkpoint.file, checkpoint.step, why, _loses(case, checkpoint))


def _loses(case: Case, checkpoint: Checkpoint) -> tuple[str, ...]:
    beside = {c.holds for c in _usable(case) if c.step == checkpoint.step}
    if beside & {Holds.EVERYTHING, Holds.TRAINING_STATE}:
        return LOST_WITH_STATE
    return LOST_WITH_WEIGHTS_ONLY


def _nearest(case: Case, step: int, reach: int) -> Checkpoint | None:
    weights = [c for c in _usable(case) if c.step is not None and abs(c.step - step) <= reach]
    return min(weights, key=lambda checkpoint: abs((checkpoint.step or 0) - step), default=None)


def _steps(case: Case) -> list[int]:
    return sorted({c.step for c in _usable(case) if c.step is not None})


def _at(case: Case, step: int, whole: bool = False) -> Checkpoint:
    """The checkpoint of a step, of several the first; or the one that training can go on from."""
    saved = [c for c in _usable(case) if c.step == step]
    return next((c for c in saved if whole and c.holds is Holds.EVERYTHING), saved[0])


def _usable(case: Case) -> list[Checkpoint]:
    return [checkpoint for checkpoint in case.run.checkpoints if checkpoint.readable]


def _reach(case: Case, metric: str) -> int:
    """How far a checkpoint may be from the best evaluation and still be called the same: one interval."""
    series = case.run.series.get(metric)
    return series.cadence() if series is not None else 0


def _missing_at(case: Case, peak: int, metric: str) -> str:
    return f"No checkpoint exists at the best {metric}, step {peak:,}{_saved_at(case)}."


def _saved_at(case: Case) -> str:
    steps = _steps(case)
    if not steps:
        return ": no checkpoint was found"
    listed = ", ".join(f"{step:,}" for step in steps[:6]) + (" ..." if len(steps) > 6 else "")
    return f": saved are {listed}"
