"""A resume loses the state of the optimizer."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "optimizer-state-lost", Kind.SOURCE, or_else=("schedule-not-restored", "learning-rate-jump")
)
