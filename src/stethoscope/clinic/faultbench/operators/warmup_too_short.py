"""The rate begins at its peak where the network needs a warm-up."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("warmup-too-short", Kind.SETTINGS, or_else=("learning-rate-too-high", "clipping-missing"))
