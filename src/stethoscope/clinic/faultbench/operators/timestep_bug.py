"""The level of noise that the network is told is always the same, or reversed."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("timestep-bug", Kind.SOURCE, or_else=("noise-levels-mismatch",))
