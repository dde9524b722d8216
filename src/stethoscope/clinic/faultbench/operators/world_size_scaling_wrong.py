"""The rate is scaled by the number of processes twice."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("world-size-scaling-wrong", Kind.SETTINGS, or_else=("learning-rate-too-high",))
