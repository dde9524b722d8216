"""Gradients vanish in half precision, which nothing scales."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("gradient-underflow", Kind.SOURCE, or_else=("loss-scale-bypassed",))
