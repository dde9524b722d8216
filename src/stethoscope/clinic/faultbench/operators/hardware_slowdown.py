"""The machine becomes slow in the middle of the run."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("hardware-slowdown", Kind.RUNTIME)
