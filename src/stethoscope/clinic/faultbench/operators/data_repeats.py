"""A handful of samples is repeated over and over."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("data-repeats", Kind.DATA, or_else=("overfitting",))
