"""Units are dead from the start, or die at once."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("dead-units", Kind.SOURCE, or_else=("vanishing-gradients", "init-too-large"))
