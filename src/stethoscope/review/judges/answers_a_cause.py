"""The diagnosis names a cause that the change would act on, or rules that cause out."""

from __future__ import annotations

from stethoscope.causes import RankedCause, Standing
from stethoscope.review.claim import DOWN, UP, Fact, Judgement, Ruling
from stethoscope.review.question import Question
from stethoscope.review.values import value_of

PLACE = 80

ON, OFF = "on", "off"
# cause: the quantities that act on it, and which way
ACTS_ON: dict[str, tuple[tuple[str, str], ...]] = {
    "learning-rate-too-high": (("learning rate", DOWN),),
    "learning-rate-too-low": (("learning rate", UP),),
    "learning-rate-not-decayed": (("schedule", ON),),
    "warmup-too-short": (("warm-up", UP),),
    "clipping-missing": (("gradient clip", ON),),
    "clip-too-tight": (("gradient clip", UP),),
    "gradient-growth": (("gradient clip", ON), ("learning rate", DOWN)),
    "forward-overflow": (("precision", "bf16"), ("precision", "fp32")),
    "gradient-underflow": (("precision", "bf16"), ("precision", "fp32")),
    "loss-scale-at-zero": (("precision", "bf16"), ("precision", "fp32")),
    "norm-in-half-precision": (("precision", "fp32"),),
    "bf16-too-coarse": (("precision", "fp32"),),
    "overfitting": (("weight decay", UP), ("dropout", UP), ("length of the run", DOWN)),
    "weight-decay-wrong": (("weight decay", DOWN),),
    "ema-too-slow": (("EMA decay", DOWN),),
    "stale-second-moment": (("betas", DOWN),),
    "curriculum-too-fast": (("curriculum", UP),),
    "schedule-longer-than-run": (("warm-up", DOWN), ("decay length", DOWN), ("curriculum", DOWN)),
    "batchnorm-tiny-batch": (("batch per device", UP),),
    "out-of-memory": (("batch per device", DOWN), ("accumulation", UP)),
    "world-size-scaling-wrong": (("learning rate", DOWN),),
}


def judge(question: Question) -> Judgement | None:
    """Supported by a cause that stands, refuted where every cause that it acts on is contradicted."""
    if question.patient is None:
        return None
    causes = [c for c in question.patient.diagnosis.explanation.causes if _acts_on(question, c.name)]
    standing = [cause for cause in causes if cause.stands]
    if standing:
        cause = standing[0]
        why = f"it acts on what the diagnosis found: {cause.entry.cause.title.lower()}"
        return Judgement(Ruling.SUPPORTED, why, _facts(cause, is_for=True))
    contradicted = [cause for cause in causes if cause.standing is Standing.CONTRADICTED]
    if contradicted and len(contradicted) == len(causes):
        cause = contradicted[0]
        against = (
            cause.arguments_against[0].reason if cause.arguments_against else "the evidence speaks against it"
        )
        why = f"it would act on a cause that is ruled out ({cause.entry.cause.title.lower()}): {against}"
        return Judgement(Ruling.REFUTED, why, _facts(cause, is_for=False))
    return None


def _acts_on(question: Question, cause: str) -> bool:
    target = question.target
    for quantity, way in ACTS_ON.get(cause, ()):
        if quantity != target.quantity:
            continue
        if way in (UP, DOWN) and way == target.direction:
            return True
        if way == ON and _switches_on(question):
            return True
        if way in {"bf16", "fp32"} and _precision(question) == way:
            return True
    return False


def _switches_on(question: Question) -> bool:
    known, value = question.target.known, question.value
    was_off = known is None or not known.value or known.value in ("none", "constant")
    return was_off and bool(value) and value not in ("none", "constant")


def _precision(question: Question) -> str:
    """The precision that a value asks for: `amp_bf16: true`, `precision: 32`, `use_amp: false`."""
    value, leaf = value_of(str(question.value)), question.target.leaf.lower()
    if value is True:
        return "bf16" if "bf" in leaf else "fp16" if "16" in leaf else ""
    if value is False:
        return "fp32" if "amp" in leaf or "16" in leaf or "mixed" in leaf else ""
    written = str(value).lower()
    return (
        "bf16" if "bf" in written else "fp32" if written in {"32", "fp32", "float32", "no", "32-true"} else ""
    )


def _facts(cause: RankedCause, is_for: bool) -> tuple[Fact, ...]:
    arguments = cause.arguments_for if is_for else cause.arguments_against
    return tuple(
        Fact(argument.finding.message if argument.finding else argument.reason, tuple(argument.where))
        for argument in arguments[:3]
    )
