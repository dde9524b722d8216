"""A norm written by hand takes its statistics in half precision."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("norm-in-half-precision", Kind.SOURCE, or_else=("forward-overflow",))
