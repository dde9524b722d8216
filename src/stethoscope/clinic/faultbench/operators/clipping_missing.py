"""Rare huge gradients are not clipped."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("clipping-missing", Kind.SETTINGS, or_else=("learning-rate-too-high", "gradient-growth"))
