"""Switch from fp16 to bf16."""

from __future__ import annotations

from stethoscope.prescription.case import Case
from stethoscope.prescription.remedy import NotRecommended

OVERFLOWS = ("loss-scale-collapse", "loss-scale-at-zero", "non-finite-values")


def consider(case: Case) -> NotRecommended | None:
    """Not where the loss scale shows that fp16 does not overflow."""
    scale = case.run.series.get("loss_scale")
    if scale is None or any(case.finding(rule) for rule in OVERFLOWS):
        return None
    calm = case.finding("loss-scale-high") or case.finding("loss-scale-sawtooth")
    if calm is None and not any(rule.name == "loss-scale-collapse" for rule in case.examination.clear):
        return None
    if (scale.values == 1.0).all():
        return None  # the scaler is off: the run is in bf16 or fp32 already
    return NotRecommended(
        "bf16 instead of fp16",
        "the loss scale shows no overflow for bf16's wider range to cure, and bf16 has fewer digits",
        (scale.where(),),
    )
