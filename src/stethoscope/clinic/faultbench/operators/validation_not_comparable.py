"""Validation measures an easier or another task."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("validation-not-comparable", Kind.SOURCE, or_else=("metric-wrong", "data-range-mismatch"))
