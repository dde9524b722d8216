"""The weights themselves are in half precision, and small updates are rounded away."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("no-master-weights", Kind.SOURCE, or_else=("bf16-too-coarse", "precision-not-as-asked"))
