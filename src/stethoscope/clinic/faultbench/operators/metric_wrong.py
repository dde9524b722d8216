"""The metric is computed wrongly."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "metric-wrong",
    Kind.SOURCE,
    or_else=("data-range-mismatch", "validation-not-comparable", "metric-aggregation-wrong"),
)
