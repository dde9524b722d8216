"""Clip the gradients."""

from __future__ import annotations

from stethoscope.prescription.case import Case
from stethoscope.prescription.remedy import NotRecommended
from stethoscope.run import Setting

NAMES = (
    "grad_clip",
    "grad_clip_norm",
    "clip_grad_norm",
    "clip_grad",
    "max_grad_norm",
    "gradient_clip_val",
    "gradient_clip_norm",
    "gradient_clipping",
    "grad_norm_clip",
    "clip_norm",
    "clip",
)


def consider(case: Case) -> NotRecommended | None:
    """Not where it is switched on already, and gradients are calm."""
    setting = case.setting(*NAMES)
    if setting is None or not _on(setting) or case.finding("divergence") or _never_used(case, setting):
        return None
    return NotRecommended(
        "gradient clipping",
        f"already set: {setting.dotted} is {setting.text or setting.value}",
        (setting.where,),
    )


def _on(setting: Setting) -> bool:
    if isinstance(setting.value, bool):
        return setting.value
    return isinstance(setting.value, int | float) and setting.value > 0


def _never_used(case: Case, setting: Setting) -> bool:
    return any(setting.leaf in finding.message for finding in case.examination.of("setting-never-used"))
