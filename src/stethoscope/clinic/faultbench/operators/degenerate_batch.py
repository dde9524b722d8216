"""Many samples are all alike, or empty."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("degenerate-batch", Kind.DATA, or_else=("labels-wrong", "data-repeats"))
