"""Training and validation scale their inputs differently."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "data-range-mismatch", Kind.SOURCE, or_else=("data-shift", "validation-not-comparable", "metric-wrong")
)
