"""The checkpoint to go back to: one that exists, ranked by a yardstick that means something."""

from __future__ import annotations

from stethoscope.findings import Finding
from stethoscope.prescription.case import Case
from stethoscope.prescription.remedy import CheckpointAdvice
from stethoscope.run import Checkpoint, Holds

# Causes under which the model was trained on the wrong thing from its first step.
WRONG_FROM_THE_START = ("loss-sign-inverted",)
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
    decline = _first(case, DECLINES)
    if decline is not None:
        return _best_before_decline(case, decline)
    breakdown = _first(case, BREAKDOWNS)
    if breakdown is not None and breakdown.onset is not None:
        return _last_before(case, breakdown.onset)
    return None, ""


def _first(case: Case, rules: tuple[str, ...]) -> Finding | None:
    symptoms = {found.rule.name: found.finding for found in case.explanation.symptoms}
    return next((symptoms[rule] for rule in rules if rule in symptoms), None)


def _best_before_decline(case: Case, decline: Finding) -> tuple[CheckpointAdvice | None, str]:
    peak = decline.evidence.get("best_step", decline.onset)
    if not isinstance(peak, int):
        return None, ""
    metric = decline.places[0].series or "the metric"
    near = _nearest(case, peak, _reach(case, metric))
    missing = _missing_at(case, peak, metric) if near is None else ""
    doubt = _doubt(case)
    if doubt:
        return None, f"{missing} {doubt}".strip()
    if near is None:
        return None, missing
    return _advice(case, near, f"the saved checkpoint nearest to the best {metric}, at step {peak:,}"), ""


def _doubt(case: Case) -> str:
    """Why no checkpoint of this run can be ranked, if that is so."""
    if any(case.cause(name) for name in WRONG_FROM_THE_START):
        return "Every checkpoint was trained against its own metric from the first step: train again."
    if case.cause("validation-not-comparable"):
        return (
            "The scores cannot rank the checkpoints: evaluate the saved ones with the corrected validation."
        )
    return ""


def _last_before(case: Case, onset: int) -> tuple[CheckpointAdvice | None, str]:
    earlier = [c for c in _usable(case) if c.step is not None and c.step < onset]
    if not earlier:
        return None, f"No checkpoint was saved before the trouble began at step {onset:,}{_saved_at(case)}."
    last = max(earlier, key=lambda checkpoint: (checkpoint.step or 0, checkpoint.holds is Holds.EVERYTHING))
    return _advice(case, last, f"the last one saved before the trouble began at step {onset:,}"), ""


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


def _usable(case: Case) -> list[Checkpoint]:
    return [checkpoint for checkpoint in case.run.checkpoints if checkpoint.readable]


def _reach(case: Case, metric: str) -> int:
    """How far a checkpoint may be from the best evaluation and still be called the same: one interval."""
    series = case.run.series.get(metric)
    return series.cadence() if series is not None else 0


def _missing_at(case: Case, peak: int, metric: str) -> str:
    return f"No checkpoint exists at the best {metric}, step {peak:,}{_saved_at(case)}."


def _saved_at(case: Case) -> str:
    steps = sorted({c.step for c in _usable(case) if c.step is not None})
    if not steps:
        return ": no checkpoint was found"
    listed = ", ".join(f"{step:,}" for step in steps[:6]) + (" ..." if len(steps) > 6 else "")
    return f": saved are {listed}"
