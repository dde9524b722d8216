"""A resume starts the schedule again."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "schedule-not-restored", Kind.SOURCE, or_else=("learning-rate-jump", "optimizer-state-lost")
)
