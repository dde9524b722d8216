"""The noise is not drawn from the schedule that the settings ask for."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "noise-schedule-ignored", Kind.SOURCE, or_else=("setting-ignored", "noise-levels-mismatch")
)
