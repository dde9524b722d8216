"""The network stays in evaluation mode after the first validation."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("left-in-eval-mode", Kind.SOURCE)
