"""What is validated is drawn from another distribution."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "data-shift", Kind.DATA, or_else=("data-range-mismatch", "overfitting", "validation-not-comparable")
)
