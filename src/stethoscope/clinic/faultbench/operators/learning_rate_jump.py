"""The learning rate jumps in the middle of the run."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "learning-rate-jump", Kind.SOURCE, or_else=("schedule-not-restored", "learning-rate-too-high")
)
