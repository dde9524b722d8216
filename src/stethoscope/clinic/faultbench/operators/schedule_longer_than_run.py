"""Warm-up or decay is laid out for a longer run."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "schedule-longer-than-run", Kind.SETTINGS, or_else=("learning-rate-too-low", "learning-rate-not-decayed")
)
