"""A logarithm, a root or a division of the loss meets its limit."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("loss-numerically-unsafe", Kind.SOURCE, or_else=("forward-overflow", "corrupt-batch"))
